// Package config reads and writes the configuration of an agent: one YAML file for each host.
//
//	file.go     the file and its parts, Load and Parse
//	strict.go   unknown keys, with their lines and what may have been meant
//	check.go    everything that can be wrong with a file that can be read
//	secret.go   key files and bearer tokens
//	write.go    a commented file for a new host
//
// Reading is strict, because a key that is misspelt and ignored is a setting that somebody believes to be in force.
package config
