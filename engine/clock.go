package engine

import (
	"time"

	"github.com/regentproject/regent/internal/clock"
)

// SystemClock returns the lease clock of the operating system, for programs that use an engine without a member, as tests of engines do.
func SystemClock() (Clock, error) {
	c, err := clock.System()
	if err != nil {
		return nil, err
	}
	return ClockOf(func() time.Duration { return time.Duration(c.Now()) }), nil
}

// ClockOf makes a clock of a reading that never runs backwards, such as one of a test.
func ClockOf(read func() time.Duration) Clock { return reading(read) }

type reading func() time.Duration

func (r reading) Now() Instant { return Instant{r()} }
