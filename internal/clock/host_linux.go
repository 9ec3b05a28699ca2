package clock

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

// The clock of the host, which all its processes share, is raw monotonic time plus the time suspended. Three readings
// make one of it, and a process may be held up between any two. HostLow and HostHigh take them in such an order that the
// result is then too early and too late, respectively.

// HostLow reads the clock of the host: an instant that is not after the end of the call.
func HostLow() (protocol.Time, error) {
	raw, err := reading(unix.CLOCK_MONOTONIC_RAW)
	if err != nil {
		return 0, err
	}
	boot, err := reading(unix.CLOCK_BOOTTIME)
	if err != nil {
		return 0, err
	}
	mono, err := reading(unix.CLOCK_MONOTONIC)
	return protocol.Time(raw + boot - mono), err
}

// HostHigh reads the clock of the host: an instant that is not before the start of the call.
func HostHigh() (protocol.Time, error) {
	mono, err := reading(unix.CLOCK_MONOTONIC)
	if err != nil {
		return 0, err
	}
	boot, err := reading(unix.CLOCK_BOOTTIME)
	if err != nil {
		return 0, err
	}
	raw, err := reading(unix.CLOCK_MONOTONIC_RAW)
	return protocol.Time(raw + boot - mono), err
}

func reading(id int32) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano()), err
}
