// Package effort decides how much a test that simulates does.
//
// A simulated world is one goroutine. The race detector makes it ten times slower and has next to nothing to find there, so
// tests do least under it. make test does the usual amount, make test-long and make mutants the long one.
package effort

import "os"

// Env is the environment variable that asks for long runs if it has the value Long.
const (
	Env  = "REGENT_TEST"
	Long = "long"
)

// Raced reports whether the race detector is on.
func Raced() bool { return raced }

// Pick returns one of three amounts: under the race detector, usually, and in a long run.
func Pick[T any](underRace, usual, long T) T {
	switch {
	case raced:
		return underRace
	case os.Getenv(Env) == Long:
		return long
	}
	return usual
}
