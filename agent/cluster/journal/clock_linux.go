package journal

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Now reads the host's clock.
func Now() Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("journal: clock: " + err.Error())
	}
	return Time(ts.Nano()) - offset()
}

// offset is by how much the time namespace of this process is ahead of the host.
var offset = sync.OnceValue(func() Time {
	mine, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		return 0 // the kernel has no time namespaces
	}
	// The file of offsets is about the namespace of children: without an exec in between that is another one.
	if of, err := os.Readlink("/proc/self/ns/time_for_children"); err != nil || of != mine {
		return 0
	}
	text, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0
	}
	return boottime(string(text))
})

// boottime finds the offset of the clock in what the kernel lists.
func boottime(text string) Time {
	for line := range strings.Lines(text) {
		var name string
		var seconds, nanoseconds int64
		if n, _ := fmt.Sscan(line, &name, &seconds, &nanoseconds); n == 3 && name == "boottime" {
			return Time(seconds*1e9 + nanoseconds)
		}
	}
	return 0
}
