package run

import (
	"os"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// Main is called first by programs that call Run: the keeper, and the process that holds addresses, run from their executable. In such a
// process it does not return.
func Main() {
	switch os.Args[0] {
	case keeperName:
		thread.NameProcess(keeperName)
		os.Exit(keepUntilDone())
	case address.ProcessName:
		thread.NameProcess(address.ProcessName)
		os.Exit(holdAddresses(os.Args[1:]))
	}
}
