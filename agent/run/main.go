package run

import "os"

// Main is called first by programs that call Run: the keeper, and the process that holds addresses, run from their executable. In such a
// process it does not return.
func Main() {
	switch os.Args[0] {
	case keeperName:
		os.Exit(keepUntilDone())
	case holderName:
		os.Exit(holdAddresses(os.Args[1:]))
	}
}
