package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Locked is H-LOCK: a voter is locked to one member at a time, leaves it only when its clock has passed the end of the lock
// or the lock was given back by a member that no longer leads by it, also across a crash; and a lease ends before the
// lock of each of its supporters.
type Locked struct{ state *hallState }

// Name returns H-LOCK.
func (c *Locked) Name() string { return "H-LOCK" }

// Observe judges what voters and leaders state by the locks that stood before.
func (c *Locked) Observe(r *sim.Record) error {
	if r.Dom != protocol.Local || r.Group != c.state.spec.Group {
		return nil
	}
	switch r.Ev {
	case protocol.EvGrant:
		return c.granted(r)
	case protocol.EvUngrant:
		return c.ungranted(r)
	case protocol.EvLease:
		return c.leased(r)
	}
	return nil
}

func (c *Locked) granted(r *sim.Record) error {
	s := c.state
	before := &s.did.Before
	switch {
	case before.Stood && before.To != r.Peer:
		return Violatedf(c.Name(), r.T, "%v locks to %v, and is locked to %v", r.Node, r.Peer, before.To)
	case before.Stood && r.Until < before.Until:
		return Violatedf(c.Name(), r.T, "%v shortens its lock on %v from %v to %v", r.Node, r.Peer, before.Until, r.Until)
	}
	promises := s.ledger.Promises(r.Node)
	for i := range promises {
		p := &promises[i]
		if !p.Orphan || p.Domain != protocol.Local || !p.Has(r.Group) || p.To == r.Peer {
			continue
		}
		if end := s.ends(p); end >= r.T {
			return Violatedf(c.Name(), r.T, "%v locks to %v, and before it crashed it locked to %v until %v", r.Node, r.Peer, p.To, end)
		}
	}
	return nil
}

func (c *Locked) ungranted(r *sim.Record) error {
	s := c.state
	before := &s.did.Before
	switch {
	case !before.Stood || before.To != r.Peer:
		return Violatedf(c.Name(), r.T, "%v ends a lock on %v that it has not given", r.Node, r.Peer)
	case r.Why == "lapsed" && r.At <= before.Until:
		return Violatedf(c.Name(), r.T, "%v lets its lock on %v lapse at %v, before its end %v", r.Node, r.Peer, r.At, before.Until)
	}
	if x := s.leading(r.Peer.Rank, r.T); x != nil && x.Holder == r.Peer && x.Support.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v ends its lock on %v (%s), who leads %v", r.Node, r.Peer, r.Why, x.Support)
	}
	return nil
}

// leased checks that every supporter, or what it was before it crashed, is locked until after the end of the lease.
func (c *Locked) leased(r *sim.Record) error {
	s := c.state
	x := s.leading(r.Node, r.T)
	if x == nil {
		return nil
	}
	end := s.end(x, r.T)
	locked := s.backers(protocol.Local, x.Group, x.Holder, end)
	if free := x.Support.Minus(locked); !free.Empty() {
		return Violatedf(c.Name(), r.T, "%v leads %v until %v, and %v is not locked to it for so long", r.Node, x.Support, end, free.Min())
	}
	return nil
}

// Finish has nothing to add.
func (c *Locked) Finish() error { return nil }

// SelfSupport is H-LS: a local leader supports itself. It sees every record first, and keeps the state of the others.
type SelfSupport struct{ state *hallState }

// Name returns H-LS.
func (c *SelfSupport) Name() string { return "H-LS" }

// Observe looks at every lease.
func (c *SelfSupport) Observe(r *sim.Record) error {
	c.state.follow(r)
	if r.Ev != protocol.EvLease || r.Dom != protocol.Local {
		return nil
	}
	if !r.Members.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v leads %v, and is not among them", r.Node, r.Members)
	}
	return nil
}

// Finish has nothing to add.
func (c *SelfSupport) Finish() error { return nil }

// SupportOne is H-SO: no member supports two leaders at one instant, so logical partitions are disjoint.
//
// Support sets change only where a lease fact says so; between two facts leases can only end. So to look at those facts is
// to look at every instant.
type SupportOne struct{ state *hallState }

// Name returns H-SO.
func (c *SupportOne) Name() string { return "H-SO" }

// Observe compares a lease with all others in force.
func (c *SupportOne) Observe(r *sim.Record) error {
	s := c.state
	mine := s.leased(r)
	if mine == nil {
		return nil
	}
	for q := range protocol.Rank(s.n) {
		other := s.leading(q, r.T)
		if q == r.Node || other == nil {
			continue
		}
		if both := other.Support.Intersect(mine.Support); !both.Empty() {
			return Violatedf(c.Name(), r.T, "%v leads %v, and %v leads %v: %v supports both", q, other.Support, r.Node, mine.Support, both)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *SupportOne) Finish() error { return nil }

// Led is H-T: a set of members that has been a Δ-partition for κ has had a leader within that time.
type Led struct {
	state  *hallState
	judged int
}

// Name returns H-T.
func (c *Led) Name() string { return "H-T" }

// Observe looks at every Δ-partition every few milliseconds.
func (c *Led) Observe(r *sim.Record) error {
	if c.state.fresh {
		return c.judge(r.T)
	}
	return nil
}

func (c *Led) judge(t sim.Real) error {
	s := c.state
	since := t.Add(-s.spec.Kappa)
	if since < 0 {
		return nil
	}
	var seen protocol.Set
	for p := range protocol.Rank(s.n) {
		if seen.Has(p) {
			continue
		}
		sp := s.partition(p, since)
		if sp.Empty() || sp.Len() < s.spec.Supporters {
			continue
		}
		seen = seen.Union(sp)
		c.judged++
		led := false
		for q := range sp.All() {
			led = led || s.led(q, since, t)
		}
		if !led {
			return Violatedf(c.Name(), t, "%v has been a partition of its own for %v, and nobody in it has led", sp, s.spec.Kappa)
		}
	}
	return nil
}

// Judged returns how often a partition was looked at.
func (c *Led) Judged() int { return c.judged }

// Finish looks at the end.
func (c *Led) Finish() error { return c.judge(c.state.truth.Now()) }

// Minimum is H-MIN: once a set of members has been a Δ-partition for κ its best-ranked member leads it, alone, and goes on
// to as long as the partition lasts.
type Minimum struct{ state *hallState }

// Name returns H-MIN.
func (c *Minimum) Name() string { return "H-MIN" }

// Observe looks at every Δ-partition every few milliseconds, and when somebody steps down.
func (c *Minimum) Observe(r *sim.Record) error {
	if c.state.fresh || r.Ev == protocol.EvStepdown {
		return c.judge(r.T)
	}
	return nil
}

func (c *Minimum) judge(t sim.Real) error {
	s := c.state
	since := t.Add(-s.spec.Kappa)
	if since < 0 {
		return nil
	}
	var seen protocol.Set
	for p := range protocol.Rank(s.n) {
		if seen.Has(p) {
			continue
		}
		sp := s.partition(p, since)
		if sp.Empty() || sp.Len() < s.spec.Supporters {
			continue
		}
		seen = seen.Union(sp)
		for q := range sp.All() {
			if leads := s.leading(q, t) != nil; leads != (q == sp.Min()) {
				return Violatedf(c.Name(), t, "%v has been a partition of its own for %v: %v leads: %v", sp, s.spec.Kappa, q, leads)
			}
		}
	}
	return nil
}

// Finish looks at the end.
func (c *Minimum) Finish() error { return c.judge(c.state.truth.Now()) }

// Inconsistency is H-BI: who has been connected to a leader for κ supports it.
type Inconsistency struct{ state *hallState }

// Name returns H-BI.
func (c *Inconsistency) Name() string { return "H-BI" }

// Observe looks at every leader every few milliseconds, and at each lease.
func (c *Inconsistency) Observe(r *sim.Record) error {
	s := c.state
	if !s.fresh && (r.Ev != protocol.EvLease || r.Dom != protocol.Local) {
		return nil
	}
	since := r.T.Add(-s.spec.Kappa)
	for p := range protocol.Rank(s.n) {
		lease := s.leading(p, r.T)
		if since < 0 || lease == nil {
			continue
		}
		for q := range protocol.Rank(s.n) {
			if s.spec.Touch > 0 && s.touch[s.way(p, q)] > since {
				continue
			}
			if q != p && s.connected(p, q, since) && !lease.Support.Has(q) {
				return Violatedf(c.Name(), r.T, "%v leads %v, and has been connected to %v for %v", p, lease.Support, q, s.spec.Kappa)
			}
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *Inconsistency) Finish() error { return nil }

// MajorityOnly is H-MAJ: where a majority must support a leader there is at most one, and a majority does.
type MajorityOnly struct{ state *hallState }

// Name returns H-MAJ.
func (c *MajorityOnly) Name() string { return "H-MAJ" }

// Observe looks at every lease.
func (c *MajorityOnly) Observe(r *sim.Record) error {
	s := c.state
	lease := s.leased(r)
	switch {
	case lease == nil:
		return nil
	case lease.Support.Len() < s.spec.Supporters:
		return Violatedf(c.Name(), r.T, "%v leads %v, which are fewer than %d", r.Node, lease.Support, s.spec.Supporters)
	}
	for q := range protocol.Rank(s.n) {
		if q != r.Node && s.leading(q, r.T) != nil {
			return Violatedf(c.Name(), r.T, "%v leads, and so does %v", r.Node, q)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *MajorityOnly) Finish() error { return nil }

// Graph is H-GRAPH: where the connections do not change, and need not be transitive, the leaders are those that
// the graph says. It takes the place of the paper's Fig. 24, which describes something else (E-H5).
type Graph struct {
	state *hallState
	near  []protocol.Set
	from  sim.Real
	turn  Turn
	// leaders are, by the member whose turn it is, those that must lead and those that may; nil before they are needed.
	leaders []*[2]protocol.Set
	// since is when the turn that was judged last began, and judged how many turns there were.
	since  sim.Real
	judged int
}

// A Turn says which member comes first, and since when all members have agreed on that; Forever if they do not.
type Turn func() (first protocol.Rank, since sim.Real)

// NewGraph returns the checker for a world in which member r is connected to near[r], itself included, and to nobody else.
// It judges from an instant on. If members take turns, it judges each turn from κ on; turn is nil if they do not.
func NewGraph(t Truth, spec HallSpec, near []protocol.Set, from sim.Real, turn Turn) *Graph {
	return &Graph{state: newHallState(t, spec), near: near, from: from, turn: turn, leaders: make([]*[2]protocol.Set, len(near)), since: -1}
}

// Judged returns how many turns were looked at; one if members take none.
func (g *Graph) Judged() int { return g.judged }

// of returns who must and who may lead while a member comes first.
func (g *Graph) of(first protocol.Rank) (firm, maybe protocol.Set) {
	if g.leaders[first] == nil {
		firm, maybe := turnedLeaders(g.near, first)
		for r := range protocol.Rank(len(g.near)) {
			if g.near[r].Len() < g.state.spec.Supporters {
				firm.Remove(r)
				maybe.Remove(r)
			}
		}
		g.leaders[first] = &[2]protocol.Set{firm, maybe}
	}
	return g.leaders[first][0], g.leaders[first][1]
}

// turnedLeaders is LeadersOf where ranks are turned: it gives members other names, by which the first one ranks first.
func turnedLeaders(near []protocol.Set, first protocol.Rank) (firm, maybe protocol.Set) {
	n := protocol.Rank(len(near))
	rename := func(s protocol.Set, by protocol.Rank) (out protocol.Set) {
		for r := range s.All() {
			out.Add((r + by) % n)
		}
		return out
	}
	renamed := make([]protocol.Set, n)
	for r := range n {
		renamed[(r+n-first)%n] = rename(near[r], n-first)
	}
	firm, maybe = LeadersOf(renamed)
	return rename(firm, first), rename(maybe, first)
}

// LeadersOf returns who leads in a graph: firm always do; maybe do now and then, between two requests of a member that is
// refused each time.
//
// A candidate is the best of those that it is connected to: it asks for support all the time. A member that hears a
// better candidate is silent. The rest ask for support now and then: they hear nobody better for a while, because who is
// better than they are is silent, until its answer tells them. A candidate leads if none of those that it needs ever hears
// anybody better.
func LeadersOf(near []protocol.Set) (firm, maybe protocol.Set) {
	var candidates, silent protocol.Set
	for l := range near {
		if near[l].Min() == protocol.Rank(l) {
			candidates.Add(protocol.Rank(l))
		}
	}
	for r := range protocol.Rank(len(near)) {
		heard := near[r].Intersect(candidates)
		if u := heard.Min(); !candidates.Has(r) && u < r {
			silent.Add(r)
		}
	}
	for l := range candidates.All() {
		var better protocol.Set
		for q := range near[l].All() {
			for r := range near[q].All() {
				if r < l {
					better.Add(r)
				}
			}
		}
		blocked := better.Intersect(candidates)
		loud := better.Minus(silent)
		switch {
		case !blocked.Empty():
		case loud.Empty():
			firm.Add(l)
		default:
			maybe.Add(l)
		}
	}
	return firm, maybe
}

// Name returns H-GRAPH.
func (g *Graph) Name() string { return "H-GRAPH" }

// Observe compares the leaders with the graph.
func (g *Graph) Observe(r *sim.Record) error {
	g.state.follow(r)
	if r.T < g.from || !g.state.fresh && r.Ev != protocol.EvLease && r.Ev != protocol.EvStepdown {
		return nil
	}
	return g.judge(r.T)
}

func (g *Graph) judge(t sim.Real) error {
	first, since := protocol.Rank(0), sim.Real(0)
	if g.turn != nil {
		first, since = g.turn()
		if t.Sub(since) < g.state.spec.Kappa {
			return nil
		}
	}
	if since != g.since {
		g.since = since
		g.judged++
	}
	firm, maybe := g.of(first)
	for p := range protocol.Rank(g.state.n) {
		switch leads := g.state.leading(p, t) != nil; {
		case leads && !firm.Has(p) && !maybe.Has(p):
			return Violatedf(g.Name(), t, "%v leads; by the graph %v, with %v first since %v, only %v must and %v may", p, g.near, first, since, firm, maybe)
		case !leads && firm.Has(p):
			return Violatedf(g.Name(), t, "%v does not lead; by the graph %v, with %v first since %v, all of %v do", p, g.near, first, since, firm)
		}
		if x := g.state.leading(p, t); x != nil && !g.near[p].Contains(x.Support) {
			return Violatedf(g.Name(), t, "%v leads %v, and is connected to %v only", p, x.Support, g.near[p])
		}
	}
	return nil
}

// Finish looks at the end.
func (g *Graph) Finish() error { return g.judge(g.state.truth.Now()) }
