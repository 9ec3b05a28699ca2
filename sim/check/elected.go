package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Elected is N-EE: once a quorum of the healed core is well, with a member in it that may lead, no group that its members
// want to lead stays without a lease for longer than the bound. A member that has lost its record and does not know yet what it has forgotten is not
// well: too many of them need an operator.
type Elected struct {
	follower
	quorums protocol.Quorums
	leaders protocol.Set
	groups  []protocol.Group
	free    []sim.Real // since when each group has had no lease; Forever while it has one
	bound   time.Duration
	core    protocol.Set // of the liveness phase, else empty
	speaks  protocol.Set
	good    sim.Real // since when a quorum of the core is well; Forever if it is not
}

// newElected returns the checker for groups that every member that may, or just every member if leaders is empty, wants to
// lead at all times. The bound counts from the
// beginning of the liveness phase, from when a quorum is well, or from the end of the last lease.
func newElected(b *book, q protocol.Quorums, leaders protocol.Set, bound time.Duration, groups []protocol.Group) *Elected {
	if leaders.Empty() {
		leaders = protocol.Everyone(b.truth.Members())
	}
	return &Elected{follower: follower{book: b}, quorums: q, leaders: leaders, groups: groups, free: make([]sim.Real, len(groups)), bound: bound, good: sim.Forever}
}

// Name returns N-EE.
func (e *Elected) Name() string { return "N-EE" }

// Observe watches the gaps between leases.
func (e *Elected) Observe(r *sim.Record) error {
	err := e.late(r.T)
	did := e.follow(r)
	e.heed(r)
	if did.Begun != nil || len(did.Ended) > 0 || r.Ev == sim.EvPhase {
		e.look(r.T)
	}
	return err
}

// heed knows who is well.
func (e *Elected) heed(r *sim.Record) {
	switch r.Ev {
	case sim.EvPhase:
		e.core, e.good = protocol.Set{}, sim.Forever
		if r.Why == sim.Liveness {
			e.core = r.Members
		}
	case sim.EvCrash, sim.EvClose:
		e.speaks.Remove(r.Node)
	case protocol.EvSpeak:
		e.speaks.Add(r.Node)
	case protocol.EvWait:
		if r.Until == protocol.Never {
			e.speaks.Remove(r.Node)
		}
	default:
		return
	}
	up := e.core.Intersect(e.speaks)
	able := up.Intersect(e.leaders)
	switch well := e.quorums.In(up) && !able.Empty(); {
	case !well:
		e.good = sim.Forever
	case e.good == sim.Forever:
		e.good = r.T
	}
}

// look notes which groups have a lease.
func (e *Elected) look(t sim.Real) {
	for i, g := range e.groups {
		switch led := e.led(g, t); {
		case led:
			e.free[i] = sim.Forever
		case e.free[i] == sim.Forever:
			e.free[i] = t
		}
	}
}

// led reports whether a lease of the group is in force at t.
func (e *Elected) led(g protocol.Group, t sim.Real) bool {
	for r := range protocol.Rank(e.truth.Members()) {
		if x := e.ledger.Lease(r, protocol.Quorum, g); x != nil && e.leads(x, t) {
			return true
		}
	}
	return false
}

// late says which group has been without a lease for too long at t.
func (e *Elected) late(t sim.Real) error {
	if e.good == sim.Forever {
		return nil
	}
	for i, g := range e.groups {
		if e.free[i] == sim.Forever {
			continue
		}
		if since := max(e.free[i], e.good); t > since.Add(e.bound) {
			return Violatedf(e.Name(), t, "nobody has led %q since %v; all has been well since %v, and %v should do", g, e.free[i], e.good, e.bound)
		}
	}
	return nil
}

// Finish looks at the last gap.
func (e *Elected) Finish() error {
	e.look(e.truth.Now())
	return e.late(e.truth.Now())
}
