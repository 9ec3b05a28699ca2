package runtime

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Waiter is how the loop waits. Wait is called by the loop only, Wake by anybody.
type Waiter interface {
	// Wait returns after d, or once Wake was called since the last Wait, or something can be read. It may return early. What can be read
	// within gather may wait for the end of it, so that a waiter wakes up once for several packets.
	Wait(d, gather time.Duration)
	// Wake makes the current or the next Wait return.
	Wake()
	// Close releases what the waiter holds. No Wait may be under way; a Wake that comes later does nothing.
	Close() error
	// Precise says that Wait holds the thread that calls it, which therefore is worth locking and favouring.
	Precise() bool
}

// forever is how long the loop waits when nothing is due. It bounds what a lost wake-up could do.
const forever = 10 * time.Second

// wait waits until something is due or comes in, and notes how late it woke up.
func (l *Loop) wait() {
	due := min(l.wakes.next(), l.Port.Wake())
	d := forever
	if due != protocol.Never {
		d = min(d, due.Sub(l.Clock()))
	}
	l.Waiter.Wait(d, l.gather)
	if now := l.Clock(); now >= due {
		l.stats.Late.Add(now, now.Sub(due))
		if l.Paused != nil {
			l.Paused(now, now.Sub(due))
		}
	}
}

// chanWaiter waits on a channel and a timer of package time: it works everywhere, and under testing/synctest.
type chanWaiter struct {
	wake  chan struct{}
	timer *time.Timer
}

// NewChanWaiter returns a waiter that works everywhere.
func NewChanWaiter() Waiter {
	t := time.NewTimer(forever)
	t.Stop()
	return &chanWaiter{wake: make(chan struct{}, 1), timer: t}
}

func (w *chanWaiter) Wait(d, _ time.Duration) {
	if d <= 0 {
		select {
		case <-w.wake:
		default:
		}
		return
	}
	w.timer.Reset(d)
	select {
	case <-w.wake:
		w.timer.Stop()
	case <-w.timer.C:
	}
}

func (w *chanWaiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *chanWaiter) Close() error  { w.timer.Stop(); return nil }
func (w *chanWaiter) Precise() bool { return false }
