package run

import "os"

// Main is called first by programs that call Run: the keeper runs from their executable. In such a process it does not return.
func Main() {
	if os.Args[0] == keeperName {
		os.Exit(keepUntilDone())
	}
}
