package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// release hears that a group is given up. It returns the term that must be on disk before the answer leaves.
func (g *Grantor) release(now protocol.Time, r *Release) uint64 {
	if r.Term > MaxTerm {
		return 0
	}
	e := g.entry(now, r.Group)
	if e.to != nil && e.to.to == r.Of && e.held <= r.Term {
		cause := protocol.Cause{Code: protocol.Resigned, Peer: r.Of.Rank}
		if r.To != protocol.Nobody {
			e.heir, e.reserved = r.To, now.Add(g.cfg.Rho.WaitAtLeast(2*g.cfg.RoundTrip))
			if r.Asked {
				cause = protocol.Cause{Code: protocol.Transferred, Peer: r.To}
			}
		}
		g.unassign(now, e, "released", r.Term, cause)
	}
	// From now on a claim of what was released is too low, however late it comes: no list of released requests is needed.
	if r.Term >= e.term {
		g.accept(e, r.Term, protocol.NoIdent, 0)
		return r.Term
	}
	return 0
}

// claim judges one claim within the promise p.
func (g *Grantor) claim(now protocol.Time, p *promise, c *Claim) Result {
	e := g.entry(now, c.Group)
	res := Result{Group: c.Group, Term: c.Term, Known: e.term}
	res.Candidate, res.Joined = g.policy.Candidate(c)
	same := e.owner == p.to && e.tenure == c.Tenure
	other := e.to != nil && e.to != p // it is assigned in another promise
	switch {
	case other && e.to.to != p.to:
		res.Code, res.Holder, res.Remaining, res.Token = Busy, e.to.to, e.to.until.Sub(now), e.token
		return res
	case c.Term > MaxTerm || c.Term < e.term || c.Term == e.term && !same || other && same:
		res.Code = Low // a tenure keeps its length
		return res
	case !g.policy.Accept(now, p.to, c):
		res.Code = Refused
		return res
	}
	led := e.to == p && e.token == c.Token && same
	g.accept(e, c.Term, p.to, c.Tenure)
	if other {
		g.unlink(e) // a new tenure of the same holder, with another length: the tenure before it is over
	}
	g.assign(e, p)
	e.held, e.token = c.Term, c.Token
	if !led {
		g.changed(e, protocol.Cause{Code: protocol.Elected, Peer: p.to.Rank})
	}
	g.out.Facts = append(g.out.Facts, protocol.Fact{Ev: protocol.EvAssign, Dom: g.cfg.Domain, Group: e.group, Peer: p.to,
		Tenure: c.Tenure, Term: c.Term, Gen: p.gen, At: now, Length: p.length})
	res.Known = e.term
	return res
}

// accept notes a term. Invariant: a pair of term and owner is only ever replaced by a higher term, or loses its owner.
func (g *Grantor) accept(e *entry, term uint64, owner protocol.Ident, tenure uint64) {
	e.term, e.owner, e.tenure = term, owner, tenure
	g.terms.Use(term)
}

func (g *Grantor) assign(e *entry, p *promise) {
	if e.to == p {
		return
	}
	e.to, e.heir = p, protocol.Nobody
	e.prev, e.next = nil, p.first
	if p.first != nil {
		p.first.prev = e
	}
	p.first = e
	g.assigned++
	g.lapse = min(g.lapse, p.until)
}

// unlink takes a group out of its promise.
func (g *Grantor) unlink(e *entry) {
	p := e.to
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		p.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.to, e.prev, e.next = nil, nil, nil
	g.assigned--
}

func (g *Grantor) unassign(now protocol.Time, e *entry, why string, bore uint64, cause protocol.Cause) {
	p := e.to
	g.unlink(e)
	e.token, e.free = 0, now
	g.changed(e, cause)
	g.out.Facts = append(g.out.Facts, protocol.Fact{Ev: protocol.EvUnassign, Dom: g.cfg.Domain, Group: e.group, Peer: p.to,
		Term: e.held, Seq: bore, Why: why})
}

func (g *Grantor) changed(e *entry, cause protocol.Cause) {
	g.changes = append(g.changes, Change{Group: e.group, Cause: cause})
}

// entry returns what is known of a group; of an unknown one that its terms lie at or below the floor.
func (g *Grantor) entry(now protocol.Time, group protocol.Group) *entry {
	e := g.groups[group]
	if e == nil {
		e = &entry{group: group, term: g.terms.Floor, owner: protocol.NoIdent, heir: protocol.Nobody, free: now, index: len(g.all)}
		g.groups[group] = e
		g.all = append(g.all, e)
	}
	return e
}

// GroupStatus is what a voter can say about a group.
type GroupStatus struct {
	// Holder has the group, or NoIdent; Leads says that it has reported that to this voter, and Token is then its token.
	Holder protocol.Ident
	Token  uint64
	Until  protocol.Time
	// Length is that of the promise in which the holder has the group; zero: the council's.
	Length time.Duration
	// Free is since when nobody has had the group. Heir, if not Nobody, goes first until Reserved.
	Free, Reserved protocol.Time
	Heir           protocol.Rank
}

// Leads says whether the holder is known to lead.
func (s *GroupStatus) Leads() bool { return s.Token != 0 }

// Status returns what this voter knows of who has the group.
func (g *Grantor) Status(now protocol.Time, group protocol.Group) GroupStatus {
	e := g.entry(now, group)
	s := GroupStatus{Holder: protocol.NoIdent, Free: e.free, Reserved: e.reserved, Heir: e.heir}
	if e.to != nil {
		s.Holder, s.Token, s.Until, s.Length = e.to.to, e.token, e.to.until, e.to.length
	}
	return s
}

// Known returns the highest term of the group that this member has heard of, accepted or proposed.
func (g *Grantor) Known(now protocol.Time, group protocol.Group) uint64 {
	e := g.entry(now, group)
	return max(e.term, e.seen, g.terms.Floor, g.terms.Peers)
}

// See takes note of a term of the group that somebody proposed or knows of.
func (g *Grantor) See(now protocol.Time, group protocol.Group, term uint64) {
	e := g.entry(now, group)
	e.seen = max(e.seen, min(term, MaxTerm))
	g.terms.See(term)
}

// propose takes note of a term that this member proposes.
func (g *Grantor) propose(now protocol.Time, group protocol.Group, term uint64) {
	g.See(now, group, term)
	g.terms.Use(term)
}

// Idle returns how many groups are remembered that nobody has.
func (g *Grantor) Idle() int { return len(g.all) - g.assigned }

// sweepStep is how many groups one sweep looks at, so that its cost does not grow with their number.
const sweepStep = 64

// Sweep forgets some of the groups that have been free for idle and that keep does not want. Their terms go into the
// floor, so that a later tenure of any of them starts higher.
func (g *Grantor) Sweep(now protocol.Time, idle time.Duration, keep func(protocol.Group) bool) {
	for n := min(sweepStep, len(g.all)); n > 0; n-- {
		g.hand++
		if g.hand >= len(g.all) {
			g.hand = 0
		}
		e := g.all[g.hand]
		if e.to != nil || now.Sub(e.free) < idle || keep(e.group) {
			continue
		}
		g.terms.Floor = max(g.terms.Floor, e.term, e.seen)
		g.terms.Use(g.terms.Floor)
		last := g.all[len(g.all)-1]
		g.all[e.index], last.index = last, e.index
		g.all = g.all[:len(g.all)-1]
		delete(g.groups, e.group)
		if len(g.all) == 0 {
			return
		}
	}
}

// Raise lifts the floor, and with it every group. It is for a voter that has granted nothing yet.
func (g *Grantor) Raise(floor uint64) {
	floor = min(floor, MaxTerm)
	if floor <= g.terms.Floor {
		return
	}
	g.terms.Floor = floor
	g.terms.Use(floor)
	for _, e := range g.all {
		if e.term < floor {
			e.term, e.owner, e.tenure = floor, protocol.NoIdent, 0
		}
	}
}
