package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// system uses one clock only: on this system CLOCK_MONOTONIC_RAW is not disciplined and counts the time asleep (it is
// mach_continuous_time), while package time's monotonic clock stops (mach_absolute_time) and wall time does not.
func system() (source, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		return source{}, fmt.Errorf("clock: reading CLOCK_MONOTONIC_RAW: %w: a lease clock needs macOS 10.12 or later", err)
	}
	return source{cheap: timeNow(), raw: func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
			panic("clock: a clock that could be read no longer can: " + err.Error())
		}
		return time.Duration(ts.Nano())
	}}, nil
}
