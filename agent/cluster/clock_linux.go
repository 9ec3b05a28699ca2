package cluster

import "golang.org/x/sys/unix"

// Reading reads a clock that all processes of the host share, in nanoseconds.
func Reading() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("cluster: clock: " + err.Error())
	}
	return ts.Nano()
}
