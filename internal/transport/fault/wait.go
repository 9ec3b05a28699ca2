package fault

import "time"

// A waiter is how a schedule waits. wake may be called by anybody, the rest by the schedule's goroutine.
type waiter interface {
	// locked says that begin and wait hold the thread, which must be the goroutine's own.
	locked() bool
	begin()
	// wait returns after d, never early unless wake was called since the last wait.
	wait(d time.Duration)
	wake()
	close()
}

// timer waits on package time.
type timer struct {
	woken chan struct{}
	timer *time.Timer
}

func newTimer() waiter { return &timer{woken: make(chan struct{}, 1)} }

func (t *timer) locked() bool { return false }
func (t *timer) begin()       { t.timer = time.NewTimer(idle) }

func (t *timer) wait(d time.Duration) {
	t.timer.Reset(d)
	select {
	case <-t.timer.C:
	case <-t.woken:
	}
}

func (t *timer) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

func (t *timer) close() { t.timer.Stop() }
