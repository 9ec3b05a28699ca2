package agent

import (
	"context"
	"sync"
	"time"

	"github.com/regentproject/regent"
)

// A glance is what the member's loop was last seen to know. Any number of clients may ask how things are; the loop is
// asked at most once in a while, by one of them, and the others get what that one got.
type glance struct {
	mu sync.Mutex
	// busy is held by whoever asks the loop.
	busy    sync.Mutex
	at      time.Time
	status  regent.Status
	members []regent.PeerStatus
}

// glanceFor is how long a glance is good enough.
const glanceFor = 100 * time.Millisecond

// look returns what is known, not older than a glance is good for unless somebody is asking just now, and when it was
// learnt.
func (g *glance) look(m *regent.Member) (regent.Status, []regent.PeerStatus, time.Time) {
	g.mu.Lock()
	fresh, first := time.Since(g.at) < glanceFor, g.at.IsZero()
	g.mu.Unlock()
	if first {
		g.busy.Lock() // there is nothing old to give
	}
	if first || !fresh && g.busy.TryLock() {
		g.ask(m)
		g.busy.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.status, g.members, g.at
}

// ask asks the loop.
func (g *glance) ask(m *regent.Member) {
	g.mu.Lock()
	fresh := time.Since(g.at) < glanceFor
	g.mu.Unlock()
	if fresh { // somebody else did while this one waited
		return
	}
	status, members := m.Status(), m.Members()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.status, g.members = time.Now(), status, members
}

// alive says whether the member's loop has answered lately, or does now.
func (a *Agent) alive() bool {
	m := a.member.Load()
	if m == nil {
		return false
	}
	_, _, at := a.glance.look(m)
	return time.Since(at) < 2*max(a.timing.Lease, glanceFor)
}

// maxVerify is how many proofs may be asked for at once: each is a question to another member.
const maxVerify = 32

// verifying takes one of the places to ask for a proof.
func (a *Agent) verifying(ctx context.Context) (done func(), err error) {
	select {
	case a.verifies <- struct{}{}:
		return func() { <-a.verifies }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
