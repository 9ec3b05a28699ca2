package clock

import (
	"time"
)

// A Watcher notices what a clock can notice of itself: that the machine was suspended, and that wall time and lease time
// no longer advance together. The first is harmless, since the lease clock counts it, but worth a line for an operator that wonders
// why a lease is gone. The second may be an operator at work; it may also be the only trace of a virtual machine that
// was paused, whose lease clock stood still: the leader that sees it had better step down.
//
// It is polled, by one goroutine, and costs two readings.
type Watcher struct {
	jump      time.Duration
	read      func() (wall, lease, suspended time.Duration)
	wall      time.Duration
	lease     time.Duration
	suspended time.Duration
}

// A Notice is what a watcher saw since it was polled before. The zero Notice is nothing.
type Notice struct {
	// Suspended is how long the machine was suspended.
	Suspended time.Duration
	// Jumped is by how much wall time advanced more than lease time: less than zero if it was set back or stood still.
	// Zero unless it is more than the watcher's bound.
	Jumped time.Duration
}

// slewing is the share of elapsed time by which wall and lease time may drift apart without a jump: an eighth, as time
// services slew by up to a tenth.
const slewing = 8

// NewWatcher returns a watcher that takes jumps of the wall clock by more than the bound for worth telling.
func NewWatcher(c *Real, bound time.Duration) *Watcher {
	base := time.Now().Round(0)
	return newWatcher(bound, func() (wall, lease, suspended time.Duration) {
		lease = time.Duration(c.Now())
		return time.Now().Round(0).Sub(base), lease, c.Suspended()
	})
}

func newWatcher(bound time.Duration, read func() (wall, lease, suspended time.Duration)) *Watcher {
	w := &Watcher{jump: bound, read: read}
	w.wall, w.lease, w.suspended = read()
	return w
}

// Poll says what happened since the last poll, or since the watcher was made. The more often it is called the smaller
// are the jumps that it can tell from slewing; every second is often enough for a bound of a second.
func (w *Watcher) Poll() Notice {
	wall, lease, suspended := w.read()
	n := Notice{Suspended: suspended - w.suspended}
	elapsed := lease - w.lease
	jumped := wall - w.wall - elapsed
	if limit := w.jump + (elapsed-n.Suspended)/slewing; jumped > limit || jumped < -limit {
		n.Jumped = jumped
	}
	w.wall, w.lease, w.suspended = wall, lease, suspended
	return n
}
