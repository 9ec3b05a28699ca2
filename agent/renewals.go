package agent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A renewalPoller has leading programs told that their leases end later than they were told last.
type renewalPoller struct {
	interval time.Duration
	mu       sync.Mutex
	// leading are the candidates to look after.
	leading map[*candidate]struct{}
	wake    chan struct{} // has an element when leading may no longer be empty
}

// pollsPerRenewal bounds what part of the renewal interval may pass before a renewal is passed on: it costs the programs as much
// of their leases.
const pollsPerRenewal = 5

func newRenewalPoller(renew time.Duration) *renewalPoller {
	return &renewalPoller{interval: max(renew/pollsPerRenewal, time.Millisecond), leading: make(map[*candidate]struct{}), wake: make(chan struct{}, 1)}
}

func (p *renewalPoller) add(c *candidate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leading[c] = struct{}{}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *renewalPoller) remove(c *candidate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.leading, c)
}

// run looks again and again whether leases end later by now.
func (p *renewalPoller) run(ctx context.Context) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		if p.poll() == 0 {
			ticker.Stop()
			select {
			case <-p.wake:
				ticker.Reset(p.interval)
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

// poll calls on all candidates that have news, and returns how many there are.
func (p *renewalPoller) poll() int {
	p.mu.Lock()
	leading := slices.Collect(maps.Keys(p.leading))
	p.mu.Unlock()
	for _, c := range leading {
		if c.hasLaterEnd() {
			c.notifier.renewed(c)
		}
	}
	return len(leading)
}
