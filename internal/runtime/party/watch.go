package party

import (
	"sync"
	"time"

	"github.com/regentproject/regent/internal/tenure"
)

// A Watch is one alarm for all parties that lead until the same end, such as a horizon. A renewal costs nothing: the alarm rings when the
// guard time of the end begins that it saw last, and looks again.
type Watch struct {
	// left returns how long it is until the guard time of the shared end begins.
	left func() time.Duration

	mu    sync.Mutex
	all   map[*Party]struct{}
	timer *time.Timer
}

// NewWatch returns a watch over an end. left returns how long it is until its guard time begins, on the lease clock.
func NewWatch(left func() time.Duration) *Watch {
	return &Watch{left: left, all: make(map[*Party]struct{})}
}

// enter puts a party under the watch that it belongs to, and takes it from the last one. One that does not lead has an alarm of its own.
func (p *Party) enter() {
	var w *Watch
	if p.options.Watch != nil && p.m.State() == tenure.Leading {
		w = p.options.Watch()
	}
	if w == p.watch {
		return
	}
	if p.watch != nil {
		p.watch.remove(p)
	}
	p.watch = w
	if w != nil {
		w.add(p)
	}
}

func (w *Watch) add(p *Party) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[p] = struct{}{}
	if w.timer == nil {
		w.timer = time.AfterFunc(early(w.left()), w.ring)
	}
}

func (w *Watch) remove(p *Party) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, p)
	if len(w.all) == 0 && w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// again is how soon a watch looks again at an end whose guard time has begun: what stays under it was renewed meanwhile.
const again = 5 * time.Millisecond

// ring has the parties look at their deadlines, if the guard time has begun.
func (w *Watch) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	left := w.left()
	if left > 0 {
		w.timer.Reset(early(left))
		return
	}
	for p := range w.all {
		go p.Tick()
	}
	w.timer.Reset(again)
}
