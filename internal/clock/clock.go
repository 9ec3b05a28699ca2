package clock

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Clock is a member's lease clock. All methods may be called from any goroutine.
type Clock interface {
	// Now returns an instant between the start and the end of the call. Of two calls, even at once, no two return the
	// same, and one that starts after another has returned returns more.
	Now() protocol.Time
	// Late returns an instant that is not before the start of the call, nor before any that Now has returned by then; it
	// may be a little late. It is the cheap reading for callers that ask whether something is already over. Successive
	// readings may run backwards by as much as they were late.
	Late() protocol.Time
}

// Of makes a clock out of any reading that never runs backwards, such as the simulator's.
func Of(read func() protocol.Time) Clock {
	c := &of{read: read}
	c.last.t.Store(math.MinInt64)
	return c
}

// Package makes a clock on package time, for tests inside a testing/synctest bubble, where it follows the fake time.
// It is no lease clock for anything else: on most systems it stops while the machine is suspended.
func Package() Clock {
	base := time.Now()
	return Of(func() protocol.Time { return protocol.Time(time.Since(base)) })
}

// Until returns how long a timer must run from now on to reach the instant t of the clock; 0 if t is past. A timer
// that a driver sets so may ring early, or late, where the operating system's timers run at another rate or stop in
// suspend: an early Tick is harmless, and a late one is what leases are made for.
func Until(c Clock, t protocol.Time) time.Duration {
	if t == protocol.Never {
		return math.MaxInt64
	}
	return max(0, t.Sub(c.Now()))
}

type of struct {
	read func() protocol.Time
	last last
}

func (c *of) Now() protocol.Time  { return c.last.after(c.read()) }
func (c *of) Late() protocol.Time { return max(c.read(), c.last.load()) }

// A last is the highest sample that a clock has given out.
type last struct{ t atomic.Int64 }

func (l *last) load() protocol.Time { return protocol.Time(l.t.Load()) }

// after returns t, or the next instant that was not given out yet if t is no longer new.
func (l *last) after(t protocol.Time) protocol.Time {
	for {
		old := l.t.Load()
		next := max(int64(t), old+1)
		if l.t.CompareAndSwap(old, next) {
			return protocol.Time(next)
		}
	}
}
