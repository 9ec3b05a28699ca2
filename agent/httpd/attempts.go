package httpd

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// A source may try to log in this often at once, and after that once in attemptInterval.
	attemptBurst    = 5
	attemptInterval = 10 * time.Second
	// maxSources bounds how many sources have an allowance of their own. All others share one.
	maxSources = 4096
)

// attempts bounds how often each source may try to log in.
type attempts struct {
	mu sync.Mutex
	// until is when the attempts of a source are forgotten: each adds an interval.
	until map[netip.Prefix]time.Time
}

// begin takes note of an attempt. It returns how long its source must wait before it may try, and zero if it may at once.
func (a *attempts) begin(now time.Time, from netip.Prefix) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	from = a.slot(now, from)
	until := a.until[from]
	if until.Before(now) {
		until = now
	}
	if wait := until.Sub(now) - (attemptBurst-1)*attemptInterval; wait > 0 {
		return wait
	}
	a.until[from] = until.Add(attemptInterval)
	return 0
}

// slot returns under which source an attempt counts.
func (a *attempts) slot(now time.Time, from netip.Prefix) netip.Prefix {
	if a.until == nil {
		a.until = make(map[netip.Prefix]time.Time)
	}
	if _, ok := a.until[from]; ok || len(a.until) < maxSources {
		return from
	}
	for p, until := range a.until {
		if until.Before(now) {
			delete(a.until, p)
		}
	}
	if len(a.until) < maxSources {
		return from
	}
	return netip.Prefix{}
}

// refund gives an attempt back: it succeeded. Attempts of the same source that failed stay.
func (a *attempts) refund(from netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if until, ok := a.until[from]; ok {
		a.until[from] = until.Add(-attemptInterval)
	}
}
