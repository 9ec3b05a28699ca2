package agent

import (
	"context"
	"sync"
	"time"
)

// A herald has leading programs told that their leases end later than they were told last.
type herald struct {
	every time.Duration
	mu    sync.Mutex
	// leading are the candidates to look after.
	leading map[*candidate]struct{}
	some    chan struct{} // has an element when leading may no longer be empty
}

// heraldShare is what part of the renewal interval may pass before a renewal is passed on: it costs the programs as much
// of their leases.
const heraldShare = 5

func newHerald(renew time.Duration) *herald {
	return &herald{every: max(renew/heraldShare, time.Millisecond), leading: make(map[*candidate]struct{}), some: make(chan struct{}, 1)}
}

func (h *herald) add(c *candidate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leading[c] = struct{}{}
	select {
	case h.some <- struct{}{}:
	default:
	}
}

func (h *herald) remove(c *candidate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leading, c)
}

// run looks again and again whether leases end later by now.
func (h *herald) run(ctx context.Context) {
	ticker := time.NewTicker(h.every)
	defer ticker.Stop()
	for {
		if h.look() == 0 {
			ticker.Stop()
			select {
			case <-h.some:
				ticker.Reset(h.every)
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look calls on all candidates that have news, and returns how many there are.
func (h *herald) look() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.leading {
		if c.later() {
			c.voice.renewed(c)
		}
	}
	return len(h.leading)
}
