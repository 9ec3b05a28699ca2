// Package journal records who led when, by the programs that led, and finds two that led at once.
//
// Every process writes a file of its own. An entry is one leadership: the program reads the host's clock around each look at its
// lease, and writes the readings at once. What it wrote is with the kernel, so it can be read after kill -9.
//
//	clock*.go  the clock that all processes of the host share
//	span.go    one leadership; Overlap and Check, which are pure
//	file.go    writing and reading entries
package journal
