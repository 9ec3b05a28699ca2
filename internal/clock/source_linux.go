package clock

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// system reads raw and boot time by system calls, as the Go runtime reaches the kernel's shared page (vDSO) only for wall and
// monotonic time. They never block, so the scheduler need not know of them.
func system() (source, error) {
	for _, id := range []int32{unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME} {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			return source{}, fmt.Errorf("clock: reading clock %d: %w: a lease clock needs Linux 2.6.39 or later", id, err)
		}
	}
	return source{
		cheap: timeNow(),
		raw:   func() time.Duration { return read(unix.CLOCK_MONOTONIC_RAW) },
		boot:  func() time.Duration { return read(unix.CLOCK_BOOTTIME) },
	}, nil
}

func read(id uintptr) time.Duration {
	var ts unix.Timespec
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic("clock: a clock that could be read no longer can: " + errno.Error())
	}
	return time.Duration(ts.Nano())
}
