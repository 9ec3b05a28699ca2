package runtime

import "sync/atomic"

// historyLength is how many changes of all groups together are kept.
const historyLength = 1024

// A history keeps the last changes of all groups, in order. The loop adds, any goroutine reads, and neither waits for the
// other: a reader that is overtaken finds a change with another number than it looked for, and knows that it lost it.
type history struct {
	ring    [historyLength]atomic.Pointer[Change]
	last    atomic.Uint64
	changed signal
}

// number gives a change its number, and add puts it in.
func (h *history) number(c *Change) { c.Serial = h.last.Load() + 1 }

func (h *history) add(c *Change) {
	h.ring[c.Serial%historyLength].Store(c)
	h.last.Store(c.Serial)
	h.changed.raise()
}

// after returns the changes after the one with the given number, oldest first, and how many are no longer known.
func (h *history) after(serial uint64) (changes []*Change, lost uint64) {
	last := h.last.Load()
	for n := serial + 1; n <= last; n++ {
		if last-n >= historyLength {
			lost, n = lost+last-historyLength-n+1, last-historyLength
			continue
		}
		if c := h.ring[n%historyLength].Load(); c != nil && c.Serial == n {
			changes = append(changes, c)
		} else {
			lost++
		}
	}
	return changes, lost
}

// A signal wakes the readers that wait for the next change. Raising it costs next to nothing if none does.
type signal struct{ c atomic.Pointer[chan struct{}] }

// wait returns a channel that is closed when the signal is raised next.
func (s *signal) wait() <-chan struct{} {
	for {
		if c := s.c.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if s.c.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

func (s *signal) raise() {
	if s.c.Load() == nil {
		return
	}
	if c := s.c.Swap(nil); c != nil {
		close(*c)
	}
}

// A Signal is raised for those that wait.
type Signal struct{ s signal }

// Wait returns a channel that is closed when the signal is raised next.
func (s *Signal) Wait() <-chan struct{} { return s.s.wait() }

// Raise wakes those that wait.
func (s *Signal) Raise() { s.s.raise() }
