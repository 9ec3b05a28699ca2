package nerio_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// Without drift the sum is plain: half a round trip, the lease, a turn for each that may lead, and eleven round trips more for three
// attempts and the longest pauses between them.
func TestFailOverCountsATurnForEachMemberThatMayLead(t *testing.T) {
	const ms = time.Millisecond
	c := nerio.Config{Quorums: protocol.Majority(5), RoundTrip: 20 * ms, Lease: 200 * ms, Longest: 300 * ms, Renew: 50 * ms}
	if got, want := c.FailOver(), (10+200+5*20+11*20)*ms; got != want {
		t.Errorf("five members: %v, want %v", got, want)
	}
	c.Leaders = protocol.NewSet(0, 1) // the others are witnesses
	if got, want := c.FailOver(), (10+200+2*20+11*20)*ms; got != want {
		t.Errorf("two that may lead: %v, want %v", got, want)
	}
	c.PerGroup = time.Second
	if got, want := c.FailOver(), (10+300+2*20+11*20)*ms; got != want {
		t.Errorf("leases at their longest: %v, want %v", got, want)
	}
	c.PerGroup, c.Rho = 0, protocol.DefaultRho
	if got, least := c.FailOver(), (10+200+2*20+11*20)*ms+780*time.Microsecond; got < least {
		t.Errorf("with drift: %v, want at least %v", got, least)
	}
}
