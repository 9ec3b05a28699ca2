package clock

import (
	"math"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

// The clock of the host, which all its processes share, is raw monotonic time plus the time suspended, which is boot time less
// monotonic time. A process may be held up between any two readings. HostLow and HostHigh take them in such an order that the result is then
// too early and too late, respectively, and take those of the time suspended again until they are close together. So a
// result is off by [apart] at most from an instant within the call, however long the process was held up.

// HostLow reads the clock of the host: an instant that is not after the end of the call, and at most [apart] before its start.
func HostLow() (protocol.Time, error) { return hostClock{reading, monotonic}.low() }

// HostHigh reads the clock of the host: an instant that is not before the start of the call, and at most [apart] after its end.
func HostHigh() (protocol.Time, error) { return hostClock{reading, monotonic}.high() }

const (
	// apart is how far two readings may lie apart that make the time suspended.
	apart = 100 * time.Microsecond
	// retakes bounds how often they are taken again: a thread that is held up in each of them gets the best.
	retakes = 64
)

// A hostClock is how the clocks of the kernel are read.
type hostClock struct {
	read  func(id int32) (time.Duration, error)
	cheap func() time.Duration // monotonic time, without a system call
}

func (h hostClock) low() (protocol.Time, error) {
	raw, err := h.read(unix.CLOCK_MONOTONIC_RAW)
	if err != nil {
		return 0, err
	}
	suspended := time.Duration(math.MinInt64)
	err = h.closely(func() error {
		boot, err := h.read(unix.CLOCK_BOOTTIME)
		if err != nil {
			return err
		}
		mono, err := h.read(unix.CLOCK_MONOTONIC)
		suspended = max(suspended, boot-mono)
		return err
	})
	return protocol.Time(raw + suspended), err
}

func (h hostClock) high() (protocol.Time, error) {
	suspended := time.Duration(math.MaxInt64)
	err := h.closely(func() error {
		mono, err := h.read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return err
		}
		boot, err := h.read(unix.CLOCK_BOOTTIME)
		suspended = min(suspended, boot-mono)
		return err
	})
	if err != nil {
		return 0, err
	}
	raw, err := h.read(unix.CLOCK_MONOTONIC_RAW)
	return protocol.Time(raw + suspended), err
}

// closely takes a reading again until one was quick.
func (h hostClock) closely(take func() error) error {
	for range retakes {
		start := h.cheap()
		if err := take(); err != nil {
			return err
		}
		if h.cheap()-start <= apart {
			break
		}
	}
	return nil
}

func reading(id int32) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano()), err
}

var started = time.Now()

func monotonic() time.Duration { return time.Since(started) }
