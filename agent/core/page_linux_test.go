package core

import (
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// The page never shows more than the member's lease, and what it showed is what the machine counts when it freezes.
func TestPageShowsNoMoreThanTheLease(t *testing.T) {
	a := Joined(t)
	k, d := lead(t, a, Candidacy{Candidate: session.Candidate{Group: "g", Page: true}, Margin: session.Skew}), a.deadlines
	look := func() (page, lease protocol.Time) {
		d.mu.Lock()
		shown := k.slot.Load().Until()
		d.mu.Unlock()
		now := d.now() // first: what passes makes the result earlier
		host, err := clock.HostHigh()
		if err != nil {
			t.Fatal(err)
		}
		return now.Add(shown.Sub(host)), k.hold.Until() // last: it only grows
	}
	seen := make(map[protocol.Time]bool)
	cluster.Eventually(t, "the page shows ten renewals", func() bool {
		page, lease := look()
		if page > lease {
			t.Fatalf("the page shows %v, and the lease ends at %v", page, lease)
		}
		if lease.Sub(page) < time.Millisecond {
			seen[lease] = true
		}
		return len(seen) > 10
	})
	k.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: protocol.Cause{Code: protocol.Unhealthy, Peer: protocol.Nobody}})
	page, _ := look()
	if known, _ := k.life.Announced(); known < page.Add(-k.Margin) {
		t.Errorf("the page shows %v, and the machine knows of %v", page.Add(-k.Margin), known)
	}
}
