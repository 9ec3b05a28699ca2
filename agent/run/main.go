package run

import "os"

// Main is called first by programs that call Run: the first process of every program, and the keeper, run from their executable.
// In such a process it does not return.
func Main() {
	switch os.Args[0] {
	case gateName:
		os.Exit(waitAtGate(os.Args))
	}
}
