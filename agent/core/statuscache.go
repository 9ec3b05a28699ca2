package core

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// A statusCache holds what the member's loop was last seen to know. Any number of clients may ask how things are; the loop is
// asked at most once in a while, by one of them, and the others get what that one got.
type statusCache struct {
	mu sync.Mutex
	// refreshing is held by the caller that asks the loop.
	refreshing sync.Mutex
	at         time.Time
	status     regent.Status
	members    []regent.PeerStatus
	council    roster.Council
	// orders counts orders that have changed what the loop knows: what was read before one is old.
	orders uint64
}

// statusMaxAge is how old a status may be before it is read again.
const statusMaxAge = 100 * time.Millisecond

// get returns what is known, not older than statusMaxAge unless somebody is asking just now, and when it was
// learnt.
func (c *statusCache) get(m *regent.Member) (regent.Status, []regent.PeerStatus, time.Time) {
	c.mu.Lock()
	fresh, first := time.Since(c.at) < statusMaxAge, c.at.IsZero()
	c.mu.Unlock()
	if first {
		c.refreshing.Lock() // there is nothing old to give
	}
	if first || !fresh && c.refreshing.TryLock() {
		c.refresh(m)
		c.refreshing.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status, c.members, c.at
}

// present returns the council as it was seen with the status; nil if there is none.
func (c *statusCache) present() *api.CouncilInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.council.Members) == 0 || c.status.Engine != nil {
		return nil
	}
	info := councilInfo(c.council)
	info.ID = ""
	return &info
}

// refresh asks the loop, again if an order has changed what it knows meanwhile.
func (c *statusCache) refresh(m *regent.Member) {
	for {
		c.mu.Lock()
		fresh, orders := time.Since(c.at) < statusMaxAge, c.orders
		c.mu.Unlock()
		if fresh { // another caller refreshed it meanwhile
			return
		}
		status, members, council := m.Status(), m.Members(), m.Council()
		c.mu.Lock()
		if c.orders == orders {
			c.at, c.status, c.members, c.council = time.Now(), status, members, council
		}
		c.mu.Unlock()
	}
}

// forget has the loop be asked again: a client that gave an order and asks for the status sees what became of it.
func (c *statusCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
	c.orders++
}

// Alive says whether the member's loop has answered lately, or does now.
func (a *Agent) Alive() bool {
	m := a.member.Load()
	if m == nil {
		return false
	}
	_, _, at := a.statusCache.get(m)
	return time.Since(at) < 2*max(a.Timing.Lease, statusMaxAge)
}

// OpenStreams returns how many event streams are open.
func (a *Agent) OpenStreams() int64 { return a.streams.Load() }

// AcquireStream takes one of the places for event streams.
func (a *Agent) AcquireStream() (done func(), err error) {
	if limit := a.Config().Limits.Streams; a.streams.Add(1) > int64(limit) {
		a.streams.Add(-1)
		return nil, api.Errorf(http.StatusServiceUnavailable, "%d streams are open, which is the limit (limits.streams)", limit)
	}
	return func() { a.streams.Add(-1) }, nil
}

// maxVerifications is how many proofs may be asked for at once: each is a question to another member.
const maxVerifications = 32

// acquireVerifySlot takes one of the places to ask for a proof.
func (a *Agent) acquireVerifySlot(ctx context.Context) (done func(), err error) {
	select {
	case a.verifySlots <- struct{}{}:
		return func() { <-a.verifySlots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
