//go:build !unix

package agent

import "github.com/regentproject/regent/agent/config"

// checkOpenFiles returns nil: the system has no such limit.
func checkOpenFiles(*config.Limits) error { return nil }
