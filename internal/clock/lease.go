package clock

import (
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// adoption is by how much the time spent suspended must have grown to be believed. Anything less is the noise of
	// reading two clocks one after the other, which must not become a change of rate.
	adoption = time.Millisecond

	// refresh is the longest time that a cheap reading builds on one full reading. It bounds how late Late can be, by
	// the charge below, and how long a suspend can be hidden by a wall clock that was set back by as much.
	refresh = time.Millisecond

	// tolerance is by how much wall and monotonic time may differ, since the last full reading, in a cheap one.
	tolerance = time.Millisecond

	// bracket is how far apart the two monotonic readings around one of time suspended may lie; a wider one is tried
	// again, up to attempts times, and then the narrowest is taken.
	bracket  = 50 * time.Microsecond
	attempts = 16
)

// charge is what a stretch of monotonic time can be at most on a clock that is not disciplined: 21/16 of it, and a few
// nanoseconds for rounding. It covers a monotonic clock that was slowed by up to 23.8 %. See doc.go for what can slow it,
// together 22.6 %.
func charge(d time.Duration) time.Duration { return d + d>>2 + d>>4 + 4 }

// A source is what the operating system offers. All readings are in nanoseconds; their origins are arbitrary and fixed.
type source struct {
	// cheap returns wall time and then a monotonic time that stops in suspend. Nil if there is nothing cheap.
	cheap func() (wall, mono time.Duration)
	// raw advances at the rate of the hardware, undisciplined. It stops in suspend unless boot is nil.
	raw func() time.Duration
	// boot is the monotonic time of cheap plus all time suspended. Nil if raw counts suspend.
	boot func() time.Duration
}

// Real is the operating system's lease clock: undisciplined time plus time suspended.
type Real struct {
	src       source
	last      last
	suspended atomic.Int64 // time suspended as adopted, with an arbitrary origin
	resumed   atomic.Int64 // sum of all jumps of it that were adopted since the clock was made
	anchor    atomic.Pointer[anchor]
}

// An anchor is a full reading on which cheap ones build. Invariant: lease is not before what the lease clock showed at
// any instant up to the one when wall and mono were read, in this order.
type anchor struct {
	wall, mono time.Duration
	lease      protocol.Time
}

// System returns the lease clock of the operating system, or an error where we know of none that is sound.
func System() (*Real, error) {
	src, err := system()
	if err != nil {
		return nil, err
	}
	return newReal(src), nil
}

func newReal(src source) *Real {
	c := &Real{src: src}
	if src.boot != nil {
		_, low, _ := c.sleep()
		c.suspended.Store(int64(low))
	}
	c.last.t.Store(int64(c.src.raw()) + c.suspended.Load() - 1)
	c.full()
	return c
}

// Now reads the clock in full.
func (c *Real) Now() protocol.Time {
	t, _ := c.full()
	return c.last.after(t)
}

// Late reads the clock cheaply where that is safe, and in full otherwise.
func (c *Real) Late() protocol.Time {
	a := c.anchor.Load() // before the cheap reading, which is to be the later of the two
	if a == nil {
		t, _ := c.full()
		return max(t, c.last.load())
	}
	wall, mono := c.src.cheap()
	dw, dm := wall-a.wall, mono-a.mono
	if dm < 0 || dm > refresh || dw-dm > tolerance || dm-dw > tolerance {
		_, late := c.full()
		return max(late, c.last.load())
	}
	return max(a.lease.Add(charge(max(dw, dm))), c.last.load())
}

// Suspended returns how long the machine has been suspended since the clock was made, as far as any reading saw it.
func (c *Real) Suspended() time.Duration { return time.Duration(c.resumed.Load()) }

// full reads all there is. It returns what the clock shows, and a reading that is not before the clock at the start of
// the call, however badly the readings were interrupted.
func (c *Real) full() (now, late protocol.Time) {
	if c.src.boot == nil {
		wall, mono := c.tick()
		t := protocol.Time(c.src.raw())
		c.keep(wall, mono, t)
		return t, t
	}
	a, low, high := c.sleep()
	s := c.adopt(low)
	raw := c.src.raw()
	late = protocol.Time(raw + max(high, s))
	c.keep(a.wall, a.mono, late)
	return protocol.Time(raw + s), late
}

// sleep brackets the time suspended: it was at least low and at most high when it was read, which was after the
// returned anchor's wall and monotonic time.
func (c *Real) sleep() (a anchor, low, high time.Duration) {
	width := time.Duration(-1)
	for range attempts {
		wall, before := c.src.cheap()
		boot := c.src.boot()
		_, after := c.src.cheap()
		if width < 0 || after-before < width {
			width, a = after-before, anchor{wall: wall, mono: before}
			low, high = boot-after, boot-before
		}
		if width <= bracket {
			break
		}
	}
	return a, low, high
}

// adopt takes note that the time suspended is at least low, and returns the value to use.
func (c *Real) adopt(low time.Duration) time.Duration {
	for {
		old := c.suspended.Load()
		if low-time.Duration(old) <= adoption {
			return time.Duration(old)
		}
		if c.suspended.CompareAndSwap(old, int64(low)) {
			c.resumed.Add(int64(low) - old)
			return low
		}
	}
}

func (c *Real) tick() (wall, mono time.Duration) {
	if c.src.cheap == nil {
		return 0, 0
	}
	return c.src.cheap()
}

// keep makes a full reading the anchor of the cheap ones, unless there is a rather new one: an anchor is immutable, so
// each costs an allocation.
func (c *Real) keep(wall, mono time.Duration, lease protocol.Time) {
	if c.src.cheap == nil {
		return
	}
	old := c.anchor.Load()
	if old != nil {
		dw, dm := wall-old.wall, mono-old.mono
		if dm >= 0 && dm < refresh/2 && dw-dm <= tolerance/2 && dm-dw <= tolerance/2 {
			return
		}
	}
	c.anchor.CompareAndSwap(old, &anchor{wall: wall, mono: mono, lease: lease})
}
