package nerio

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/record"
)

// Config is what a member has to know of itself and of its council.
type Config struct {
	Me      protocol.Rank
	Quorums protocol.Quorums
	// Absent are ranks that no member has. They have no vote.
	Absent protocol.Set
	// Guarded says that the council may change: a member without a trusted record begins only when it is Recovered.
	Guarded bool
	// Leaving are members that are to lose their votes. They lead only where no other candidate does.
	Leaving protocol.Set
	Epoch   uint64
	// Council is the id of the council, which the durable record keeps.
	Council protocol.CouncilID
	// Digest is that of the council's configuration, and Listing that of its members and quorum system, which the durable
	// record keeps.
	Digest  uint64
	Listing [32]byte

	// RoundTrip is d, Lease δ, Longest the longest δ that anybody may ask for, Renew the interval I between renewals. They
	// are explained, and checked, in package lease.
	RoundTrip, Lease, Longest, Renew time.Duration
	// PerGroup is by how much longer a member asks for each group that it leads or tries for, up to Longest.
	PerGroup time.Duration
	// Lock is the length of a lock in the local groups of this member. Nothing here rests on it: it is kept with Longest,
	// because a local group has no record of its own.
	Lock time.Duration
	// Adapt lets δ follow the measured round trips, up to Lease.
	Adapt bool
	Rho   protocol.Rho
	// Skew, if not nil, puts bounded skew in place of bounded drift (OQwBS). It is never the default.
	Skew lease.Synchronised
	// TrustAge leaves out the check of a request's age, as the paper does.
	TrustAge bool

	// Leaders are the members that may lead; if it is empty all voters may. A voter that may not is a witness. Members whose
	// vote no quorum needs are observers: they learn who leads like everybody else, and nothing waits for them.
	Leaders protocol.Set
	// Prefer hands a group over to a better-ranked candidate once that has been one, behind a link on which answers come
	// within the round trip, for so long. Zero is sticky: a leader stays as long as it can.
	Prefer time.Duration

	// Balance is the order in which members have their turn in free groups, for each group its own; nil: they have it by rank, from
	// the trusted one on. A leader hands over to a candidate that goes before it and has joined since, Moves groups at once; zero
	// is DefaultMoves.
	Balance balance.Order
	Moves   int

	// Elector says that Trusts will come. Without one every candidate tries as soon as the group is free, which suits one
	// fixed candidate.
	Elector bool
	// StopWithin is how long a program may take to stop before its lease is no longer renewed; zero if the driver ends the renewals with
	// Lapse. The runtime always does: its machine (internal/tenure) owns that bound. Only simulated members set it.
	StopWithin time.Duration

	// TermStep is by how many terms the ceiling on disk is raised; zero: as many as the load asks for. Only simulated members set it.
	TermStep uint64
	// Diskless members keep no record: after every start they ask the others.
	Diskless bool
	// Bootstrap lets a member without a record start the council, if all others are in the same position.
	Bootstrap bool
	// Origin is where the record is kept. A record that was written elsewhere is a copy, and is not trusted.
	Origin record.Origin
	// Copied says that the record is in another file than it was written to.
	Copied bool
	// Start are random bits that no other start of the member has drawn; zero: the machine takes them from its seed.
	Start protocol.StartBits
	// Tag computes the tag of a life of this member, which nobody else can. A member without it believes nobody that its record is
	// stale. It computes the same in all starts, whatever happens to the member's keys.
	Tag func(protocol.Inc, protocol.StartBits) protocol.Tag
	// FirstInc is the least incarnation of a member without a record: milliseconds since the beginning of 2024, so that none
	// repeats even if everybody has forgotten it. Zero counts as one.
	FirstInc protocol.Inc
}

func (c *Config) lease() lease.Config {
	return lease.Config{
		Me: c.Me, Members: c.Quorums.Members(), Absent: c.Absent, Domain: protocol.Quorum, Epoch: c.Epoch, Digest: c.Digest,
		RoundTrip: c.RoundTrip, Lease: c.Lease, Longest: c.Longest, PerGroup: c.PerGroup, Renew: c.Renew, Adapt: c.Adapt, Rho: c.Rho, Skew: c.Skew,
		TrustAge: c.TrustAge,
	}
}

// leaders returns who may lead.
func (c *Config) leaders() protocol.Set {
	if c.Leaders.Empty() {
		return c.Quorums.Voters()
	}
	return c.Leaders
}

// FailOver bounds how long a group has no leader after its leader has died, in real time. It holds if a quorum is left with a
// candidate of the group in it; the dead one led this group only; no packet is lost, round trips take RoundTrip at most and
// timers are not late; and attempts of two candidates meet twice at most, which is all but certain. It is the sum of
//
//   - half a round trip: the last request of the dead leader is still under way;
//   - the promise that it asks for, on the slowest clock of a voter;
//   - a turn for each member that may lead: all before the last may be dead, or have no candidate;
//   - two attempts that meet others, each with the longest pause after it;
//   - the attempt that succeeds.
func (c *Config) FailOver() time.Duration {
	real := func(d time.Duration) time.Duration { return c.Rho.RealAtMost(c.Rho.WaitAtLeast(d)) }
	leaders := c.leaders()
	trips := leaders.Len() + meetings*(1+longestPause) + 1
	return c.RoundTrip/2 + real(min(c.Lease+c.PerGroup, c.Longest)) + time.Duration(trips)*real(c.RoundTrip)
}

// Restart is for which promises a member with a record waits that has made none but of its own length of lease, for few
// groups.
func (c *Config) Restart() time.Duration {
	l := c.lease()
	r := lease.NewReach(&l, 0, 0)
	return r.Bound
}

// meetings is how many attempts in a row may meet others. The pauses after them are drawn at random, so that there is no last
// word: with one, one of sixteen thousand simulated fail-overs took longer than the bound; with two, none of twenty thousand.
const meetings = 2

// Check returns what is wrong with the configuration.
func (c *Config) Check() error {
	if !c.Quorums.In(protocol.Everyone(c.Quorums.Members())) {
		return fmt.Errorf("nerio: quorum system %v: all members together must be a quorum", c.Quorums)
	}
	if voters := c.Quorums.Voters(); !voters.Contains(c.Leaders) {
		return fmt.Errorf("nerio: %v may lead, of whom %v have no vote: give them one, or do not let them lead", c.Leaders,
			c.Leaders.Minus(voters))
	}
	if c.Prefer < 0 {
		return fmt.Errorf("nerio: preference after %v: must not be negative; zero for none", c.Prefer)
	}
	switch {
	case c.Balance != nil && c.Prefer != 0:
		return fmt.Errorf("nerio: preference after %v in a balanced council: must be one or the other", c.Prefer)
	case c.Moves < 0:
		return fmt.Errorf("nerio: %d moves at once: must not be negative", c.Moves)
	}
	if c.StopWithin < 0 {
		return fmt.Errorf("nerio: time to stop %v: must not be negative", c.StopWithin)
	}
	l := c.lease()
	return l.Check()
}
