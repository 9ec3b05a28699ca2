package lease

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config is what grantor and holder of one member have to agree on, with each other and with the rest of the council.
type Config struct {
	Me      protocol.Rank
	Members int
	// Absent are ranks below Members that no member has.
	Absent protocol.Set
	Domain protocol.Domain
	Epoch  uint64
	// Digest is that of the council's configuration; a request with another one is refused.
	Digest uint64
	// RoundTrip bounds a round trip in good times: d in Nerio §8. An unanswered request is repeated after it.
	RoundTrip time.Duration
	// Lease is δ, for how long a request asks, in real time. Longer leases survive longer silence and fail over later.
	Lease time.Duration
	// Longest is the longest δ that a voter grants. It never shortens what it is asked for: a shorter promise under a
	// longer lease would be two leaders.
	Longest time.Duration
	// PerGroup is by how much longer a request asks for each group that the member leads or tries for, up to Longest.
	// All of them hang on one promise: when it lapses they all move at once, which takes the longer the more there are,
	// and if that took longer than the promises that replace it, they would go on moving.
	PerGroup time.Duration
	// Renew is the interval I between renewals.
	Renew time.Duration
	// Adapt lets δ be chosen for each request from the round trips measured so far (Nerio §10.1), between what Renew needs
	// and Lease.
	Adapt bool
	Rho   protocol.Rho
	// Skew, if not nil, replaces bounded drift by bounded skew (OQwBS, Nerio §4).
	Skew Synchronised
	// TrustAge leaves out the check that a request is not older than the promise that it asks for, as the paper does.
	TrustAge bool
}

// Synchronised is a source of time that all members share up to a known skew. It is a strong assumption, which no
// ordinary network can guarantee (Nerio §5): a member uses it only if it is told to.
type Synchronised interface {
	// At returns the synchronised time of an instant of the lease clock. It never runs backwards.
	At(now protocol.Time) protocol.Time
	// Skew bounds the difference between any two members' synchronised times at one instant.
	Skew() time.Duration
	// Slew bounds the rate of synchronised time against that of the lease clock.
	Slew() protocol.Rho
}

// A Policy decides what the protocols that share this core decide differently.
type Policy interface {
	// Accept says whether this voter may give the claimed group to from, all else being well.
	Accept(now protocol.Time, from protocol.Ident, claim *Claim) bool
	// Candidate says whether this member would lead the claimed group itself, and whether it has joined since a leader of the
	// group was last told.
	Candidate(claim *Claim) (would, joined bool)
	// Complete says whether these backers make their holder a leader. More backers never make it less of one.
	Complete(backers protocol.Set) bool
}

// Check returns what is wrong with the constants, as the inequality that they break.
func (c *Config) Check() error {
	if err := c.Rho.Check(); err != nil {
		return err
	}
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("lease: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Me) >= c.Members:
		return fmt.Errorf("lease: rank %d: the council has only %d members", c.Me, c.Members)
	case c.RoundTrip <= 0:
		return fmt.Errorf("lease: round trip %v: must be positive", c.RoundTrip)
	case c.Renew <= 0:
		return fmt.Errorf("lease: renewal interval %v: must be positive", c.Renew)
	case c.Longest < c.Lease:
		return fmt.Errorf("lease: longest promise %v: must be at least the lease %v", c.Longest, c.Lease)
	case c.PerGroup < 0:
		return fmt.Errorf("lease: %v more for each group: must not be negative", c.PerGroup)
	case c.Lease <= 2*c.RoundTrip:
		return fmt.Errorf("lease: lease %v: must exceed twice the round trip %v", c.Lease, c.RoundTrip)
	}
	if need := c.Renew + c.Rho.WaitAtLeast(c.RoundTrip); c.hold(c.Lease) < need {
		return fmt.Errorf("lease: lease %v, of which the holder uses %v: must cover the renewal interval %v and a round trip %v; "+
			"at least %v would do", c.Lease, c.hold(c.Lease), c.Renew, c.RoundTrip, c.Rho.RealAtMost(need))
	}
	return nil
}

// RenewEvery returns the interval between renewals of leases of a length: so many intervals of the council's own leases that as many renewals
// may be lost.
func RenewEvery(length, lease, renew time.Duration) time.Duration {
	return rounds(length, lease) * renew
}

// rounds returns how many rounds of renewals of leases of the council's own length lie between two of another one.
func rounds(length, lease time.Duration) time.Duration { return max(1, length/max(1, lease)) }

// hold returns how long, on its own clock and from the start of its request, a holder may rely on a promise of delta.
func (c *Config) hold(delta time.Duration) time.Duration { return c.holdUnder(c.Rho, delta) }

// holdUnder is hold for a request that was sent when the drift was bounded by rho.
func (c *Config) holdUnder(rho protocol.Rho, delta time.Duration) time.Duration {
	if c.Skew != nil {
		return c.Skew.Slew().RealAtLeast(delta)
	}
	return rho.WaitAtMost(delta)
}

// promise returns the end, on the voter's clock, of the promise that a request of delta asks for.
func (c *Config) promise(now protocol.Time, start protocol.Time, delta time.Duration) protocol.Time {
	if c.Skew == nil {
		return now.Add(c.Rho.WaitAtLeast(delta))
	}
	left := start.Add(delta + c.Skew.Skew()).Sub(c.Skew.At(now))
	return now.Add(c.Skew.Slew().RealAtMost(max(0, left)))
}

// LongestPromise returns how long, on its own clock, a voter that has forgotten everything waits before it grants again,
// if no promise was ever longer than longest.
func (c *Config) LongestPromise(longest time.Duration) time.Duration {
	if c.Skew == nil {
		return c.Rho.WaitAtLeast(longest)
	}
	return c.Skew.Slew().RealAtMost(longest + 2*c.Skew.Skew())
}
