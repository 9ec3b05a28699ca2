package check

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Elected is N-EE: once a quorum of the healed core is well, with a member in it that may lead, no group that its members
// want to lead stays without a lease for longer than the bound. A member that has lost its record and does not know yet what it has forgotten is not
// well: too many of them need an operator.
type Elected struct {
	cursor
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
func newElected(b *timedLedger, q protocol.Quorums, leaders protocol.Set, bound time.Duration, groups []protocol.Group) *Elected {
	if leaders.Empty() {
		leaders = protocol.Everyone(b.truth.Members())
	}
	return &Elected{cursor: cursor{timedLedger: b}, quorums: q, leaders: leaders, groups: groups, free: make([]sim.Real, len(groups)), bound: bound, good: sim.Forever}
}

// Name returns N-EE.
func (e *Elected) Name() string { return "N-EE" }

// Observe watches the gaps between leases.
func (e *Elected) Observe(r *sim.Record) error {
	err := e.late(r.T)
	did := e.follow(r)
	e.trackHealth(r)
	if did.Begun != nil || len(did.Ended) > 0 || r.Ev == sim.EvPhase {
		e.look(r.T)
	}
	return err
}

// trackHealth knows who is well.
func (e *Elected) trackHealth(r *sim.Record) {
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

// Stability is N-STAB: once its links are good, a lease that a member of the healed core gains does not lapse. It ends
// when its holder steps down, or because its program did not stop when it was asked to.
//
// Leases from before may lapse: the last request before the links healed may have been lost. So may those of a short
// while after, which may still rest on the promises of voters that are dead by now.
type Stability struct {
	cursor
	grace time.Duration
	core  protocol.Set
	good  sim.Real
}

// newStability returns the checker. After the grace no promise is left that was made before the liveness phase began.
func newStability(b *timedLedger, grace time.Duration) *Stability {
	return &Stability{cursor: cursor{timedLedger: b}, grace: grace, good: sim.Forever}
}

// Name returns N-STAB.
func (s *Stability) Name() string { return "N-STAB" }

// Observe looks at every end of a lease.
func (s *Stability) Observe(r *sim.Record) error {
	did := s.follow(r)
	if r.Ev == sim.EvPhase {
		s.core, s.good = r.Members, sim.Forever
		if r.Why == sim.Liveness {
			s.good = r.T.Add(s.grace)
		}
	}
	if r.Ev == protocol.EvStepdown && r.Dom == protocol.Quorum && len(did.Ended) > 0 {
		return s.judge(&did.Ended[0], r.T)
	}
	return nil
}

func (s *Stability) judge(x *ledger.Leadership, t sim.Real) error {
	if x.Since < s.good || !s.core.Has(x.Holder.Rank) || x.Frozen || s.leads(x, t) {
		return nil
	}
	return Violatedf(s.Name(), t, "the lease of %v in %q (tenure %d), gained at %v when all was well, lapsed at %v",
		x.Holder, x.Group, x.Tenure, x.Since, s.end(x, t))
}

// Finish looks at the leases that nobody has ended.
func (s *Stability) Finish() error {
	return s.leases(func(x *ledger.Leadership) error { return s.judge(x, s.truth.Now()) })
}

// Verified is N-VER: while a member's clock is below the end of the proof that it received about a leader, that leader leads, in
// the tenure that it said, unless it has crashed. No other member leads then, even if it has.
type Verified struct {
	cursor
	open []proof
}

// A proof is what one member knows of another.
type proof struct {
	by     protocol.Rank
	leader protocol.Ident
	group  protocol.Group
	token  uint64
	end    sim.Real
}

// Name returns N-VER.
func (v *Verified) Name() string { return "N-VER" }

// Observe judges each proof when it is given and when its leader steps down.
func (v *Verified) Observe(r *sim.Record) error {
	did := v.follow(r)
	switch {
	case r.Dom != protocol.Quorum:
		return nil
	case r.Ev == protocol.EvStepdown && len(did.Ended) > 0:
		return v.stepdown(&did.Ended[0], r.T)
	case did.Begun != nil:
		return v.begun(did.Begun, r.T)
	case r.Ev != protocol.EvVerify:
		return nil
	}
	p := proof{by: r.Node, leader: r.Peer, group: r.Group, token: r.Term, end: v.truth.Clock(r.Node).Reach(r.T, r.Until)}
	if p.end <= r.T {
		return nil
	}
	if !v.truth.Up(r.Peer.Rank) || v.truth.Ident(r.Peer.Rank) != r.Peer {
		v.keep(p, r.T)
		return v.leases(func(x *ledger.Leadership) error { return v.begun(x, r.T) })
	}
	x := v.ledger.Lease(r.Peer.Rank, protocol.Quorum, r.Group)
	switch {
	case x == nil || x.Token != p.token || !v.leads(x, r.T):
		return Violatedf(v.Name(), r.T, "%v has a proof that %v leads %q with token %d until %v, and it does not", p.by, p.leader, p.group, p.token, p.end)
	case v.end(x, r.T) < p.end:
		return Violatedf(v.Name(), r.T, "%v has a proof that %v leads %q until %v, but its lease ends at %v", p.by, p.leader, p.group, p.end,
			v.end(x, r.T))
	}
	v.keep(p, r.T)
	return nil
}

// keep notes a proof, and forgets those that are over.
func (v *Verified) keep(p proof, t sim.Real) {
	v.open = append(slices.DeleteFunc(v.open, func(q proof) bool { return q.end <= t }), p)
}

// begun demands that no proof stands that another member leads.
func (v *Verified) begun(x *ledger.Leadership, t sim.Real) error {
	for _, p := range v.open {
		if p.group == x.Group && p.leader != x.Holder && p.end > t && v.leads(x, t) {
			return Violatedf(v.Name(), t, "%v leads %q, but %v has a proof that %v leads until %v", x.Holder, x.Group, p.by, p.leader, p.end)
		}
	}
	return nil
}

func (v *Verified) stepdown(x *ledger.Leadership, t sim.Real) error {
	for _, p := range v.open {
		if p.leader == x.Holder && p.group == x.Group && p.token == x.Token && p.end > t {
			return Violatedf(v.Name(), t, "%v steps down from %q, but %v has a proof that it leads until %v", x.Holder, x.Group, p.by, p.end)
		}
	}
	return nil
}

// Finish has nothing to add.
func (v *Verified) Finish() error { return nil }

// Roles is N-ROLE: no member tries to lead that may not, or that knows that it is ill or drained.
type Roles struct {
	leaders, ill protocol.Set
}

// NewRoles returns the checker for a council in which only some may lead; all may if leaders is empty.
func NewRoles(leaders protocol.Set) *Roles { return &Roles{leaders: leaders} }

// Name returns N-ROLE.
func (c *Roles) Name() string { return "N-ROLE" }

// Observe looks at attempts and at leases.
func (c *Roles) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvHealth:
		c.ill.Remove(r.Node)
		if r.Why != "well" {
			c.ill.Add(r.Node)
		}
	case sim.EvCrash, sim.EvClose:
		c.ill.Remove(r.Node)
	case protocol.EvAttempt, protocol.EvLease:
		if !c.leaders.Empty() && !c.leaders.Has(r.Node) {
			return Violatedf(c.Name(), r.T, "%s of %v, who may not lead, in %q", r.Ev, r.Node, r.Group)
		}
		// A lease goes on until the program has stopped, and may move meanwhile.
		if r.Ev == protocol.EvAttempt && c.ill.Has(r.Node) {
			return Violatedf(c.Name(), r.T, "%v is ill, and tries to lead %q", r.Node, r.Group)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *Roles) Finish() error { return nil }
