package rain

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// ownLease is what a member knows of its own lease of the group, by the views of the authority.
type ownLease struct {
	// wanted says that the authority was asked to campaign; stopped that it was answered about the tenure with that number.
	wanted  bool
	stopped uint64
	// token is that of the lease, 0 if there is none.
	token, tenure uint64
	horizon       protocol.HorizonID
	until         protocol.Time
	quorum        stamp.Quorum
	epoch         uint64
	// owed says that this member has confirmed another's candidacy since it last had one of its own.
	owed bool
}

// onLease takes a view of the authority.
func (g *group) onLease(v *protocol.View) {
	l := &g.lease
	g.again = true
	if v.Leader.Rank != g.me {
		l.token = 0
		return
	}
	l.token, l.tenure, l.horizon, l.until, l.quorum, l.epoch = v.Term, v.Tenure, v.Horizon, v.Until, v.Quorum, v.Epoch
	if v.Stop && l.stopped != v.Tenure {
		l.stopped = v.Tenure
		g.m.queue = append(g.m.queue, protocol.Stopped{Group: g.name})
	}
}

// holdsLease says whether the member may decide now.
func (g *group) holdsLease(now protocol.Time) bool {
	l := &g.lease
	return l.token != 0 && l.stopped != l.tenure && now < l.until && now < g.m.horizons[l.horizon]
}

// want tells the authority whether this member has a use for the lease.
func (g *group) want(yes bool) {
	if g.m.below == nil || yes == g.lease.wanted {
		return
	}
	g.lease.wanted = yes
	if yes {
		g.m.queue = append(g.m.queue, protocol.Campaign{Group: g.name})
	} else {
		g.m.queue = append(g.m.queue, protocol.Resign{Group: g.name})
	}
}

// reading is how a new holder of the lease finds the last view: it asks all, and needs the word of members that meet every quorum and
// have forgotten nothing.
type reading struct {
	token           uint64
	answered, known protocol.Set
	// settled says that one of those that know has settled in the present configuration.
	settled bool
	best    View
}

// under says whether the views are being asked for under the present lease.
func (r *reading) under(g *group) bool { return g.lease.token != 0 && r.token == g.lease.token }

// done says whether the highest view is known.
func (r *reading) done(g *group) bool {
	if g.m.term.conf != nil {
		return r.under(g) && r.hasAll(g.m)
	}
	everyone := protocol.Everyone(len(g.peers))
	return r.under(g) && (r.answered == everyone || !g.m.cfg.Quorums.In(everyone.Minus(r.known)))
}

// read asks for the views of the others, once for each lease.
func (g *group) read() {
	r := &g.reading
	if r.under(g) {
		return
	}
	*r = reading{token: g.lease.token}
	for p := range g.peers {
		g.send(protocol.Rank(p), &Query{Group: g.name, Token: r.token})
	}
}

// onQuery answers with this member's view.
func (g *group) onQuery(from protocol.Rank, q *Query) {
	g.send(from, &Answer{Group: g.name, Token: q.Token, Known: g.known, View: g.view, Epoch: g.m.term.number, Settled: g.m.settled()})
}

// onAnswer takes one.
func (g *group) onAnswer(from protocol.Rank, a *Answer) {
	if r := &g.reading; r.under(g) && a.Token == r.token && a.Epoch == g.m.term.number {
		g.again = true
		r.add(from, a.Known, a.Settled, &a.View)
	}
}

func (r *reading) add(from protocol.Rank, known, settled bool, v *View) {
	r.answered.Add(from)
	if known {
		r.known.Add(from)
		r.settled = r.settled || settled
	}
	if v.after(&r.best) {
		r.best = *v
	}
}

// pending is a view that this member has decided and that programs have not received yet.
type pending struct {
	number Number
	has    protocol.Set // the members that have it
	own    uint64       // which of the machine's writes has it
	// late are those that were to be taken in and whose link broke before they said that they were: nobody knows whether they
	// lived in this view.
	late protocol.Set
	// until is when all that are not of the view have stopped; 0: a quorum does not have it yet.
	until protocol.Time
}

// broken follows the loss of a link.
func (p *pending) broken(g *group, r protocol.Rank) {
	if p.number == g.view.Number && g.view.Joined.Has(r) && !p.has.Has(r) {
		p.late.Add(r)
	}
	if g.m.changing() {
		p.has.Remove(r) // it may forget what it has, and then know so (pull)
	}
}

// lives follows the word of a member that it lives in the pending view: it was taken in after all, and only its answer was lost with the
// link. It is asked for it again.
func (p *pending) lives(g *group, now protocol.Time, r protocol.Rank) {
	if p.number == g.view.Number && p.late.Has(r) {
		p.late.Remove(r)
		g.repeat(now, r)
	}
}

// issue installs a view of this member's own making and sends it to all.
func (g *group) issue(now protocol.Time, v View, how string) {
	if g.m.below != nil {
		epoch := g.m.cfg.Epoch
		if g.m.changing() {
			epoch = g.lease.epoch
		}
		e := stamp.Edict{Epoch: epoch, Token: v.Number.Token, Counter: int64(now), Quorum: g.lease.quorum}
		g.m.fact(protocol.Fact{Ev: protocol.EvEdict, Dom: protocol.Quorum, Group: g.name, Tenure: g.lease.tenure, Term: e.Token, At: now, Detail: e})
	}
	g.install(now, v, how)
	g.pending = pending{number: v.Number, own: g.m.asked}
	for r := range g.peers {
		g.repeat(now, protocol.Rank(r))
	}
	g.announce()
}

// repeat sends a peer the view that is pending, unless it has it.
func (g *group) repeat(now protocol.Time, to protocol.Rank) {
	p := &g.pending
	if p.number != g.view.Number || p.number == (Number{}) || g.view.Manager != g.me || p.has.Has(to) || p.late.Has(to) {
		return
	}
	if g.m.below != nil && (!g.holdsLease(now) || g.lease.token != p.number.Token) {
		return
	}
	g.send(to, &Install{Group: g.name, View: g.view})
}

// onInstalled counts a member that has it, and had it in the present configuration.
func (g *group) onInstalled(from protocol.Rank, n Number, epoch uint64) {
	if n == g.pending.number && epoch == g.m.term.number && g.m.here(from) {
		g.pending.has.Add(from)
		g.again = true
	}
}

// commit reports the pending view once a quorum has it, under the lease that it was decided by, and once all that are not of it have
// stopped.
func (g *group) commit(now protocol.Time) {
	p := &g.pending
	if p.number != g.view.Number || g.reported == p.number || g.phase != Alive {
		return
	}
	if g.m.durable >= p.own {
		p.has.Add(g.me)
	}
	if g.m.below == nil {
		present := g.present()
		if p.has.Contains(present) {
			g.report()
		}
		return
	}
	if !g.holdsLease(now) || g.lease.token != p.number.Token || !g.m.cfg.Quorums.In(p.has) {
		return
	}
	if p.until == 0 {
		p.until = now
		if !g.stopped() {
			p.until = now.Add(g.m.cfg.Rho.WaitAtLeast(g.m.cfg.Stay))
		}
	}
	if now >= p.until || g.stopped() {
		g.report()
	}
}

// stopped says whether all that are not of the view are known to have stopped: they were out before, or have said so since.
func (g *group) stopped() bool {
	if g.m.first(&g.view) {
		return false // members that survivors know nothing of may have leave to go on
	}
	for j := range protocol.Everyone(len(g.peers)).Minus(g.view.Members).All() {
		p := &g.peers[j]
		out := p.up && p.spoke && (p.said.Phase == Out || p.said.Phase == Joining) && p.said.View.Number.Compare(g.view.Parent) >= 0
		if !out && (g.reported != g.view.Parent || g.view.Failed.Has(j)) {
			return false
		}
	}
	return true
}

// report lets programs know.
func (g *group) report() {
	g.reported = g.view.Number
	g.announce()
}

// onRecovered takes the manager's word that what was lost by a view is recovered. The word may be late: there may be another view by now,
// of which it says nothing.
func (g *group) onRecovered(n Number) {
	if g.phase != Alive || g.view.Manager != g.me || n != g.view.Number || g.delivered != n || g.recovered == n {
		return
	}
	g.recovered = n
	g.fact(protocol.Fact{Ev: protocol.EvDone, Term: n.Token, Gen: n.Vid})
	g.publishView(g.shown.Cause) // as it was, but with nothing left to recover
	g.announce()
}

// may says whether the next change may be decided: the last one was reported and its recovery is over, or its manager died in it.
// Without an authority nobody can announce what a dead manager has not reported.
func (g *group) may(present *protocol.Set) bool {
	died := !present.Has(g.view.Manager)
	return (g.reported == g.view.Number || died && g.m.below == nil) && (g.recovered == g.view.Number || died)
}

// decide takes the members on to the next view, if all of them agree on it.
func (g *group) decide(now protocol.Time, present, joining *protocol.Set) {
	failed, joined, ok := g.converged(present, joining)
	managing := g.view.Manager == g.me && (g.reported != g.view.Number || g.recovered != g.view.Number || !g.lease.owed && !g.m.leaves())
	if ok {
		ok = g.may(present) || !present.Has(g.view.Manager)
	}
	if g.failing.Has(g.me) {
		ok, managing = false, false // the others need the lease to decide the view without this member
	}
	g.want(ok || managing)
	if ok {
		g.lease.owed = false
	}
	if g.m.below != nil && !g.lead(now) || !ok || !g.may(present) {
		return
	}
	next := g.next(failed, joined)
	if g.m.below != nil && !g.m.cfg.Quorums.In(next.Members) {
		return
	}
	if g.m.below == nil && next.Members.Len() == 1 && g.view.Members.Len() > 1 {
		return // alone and without a gate it has no way to know that it is not the one that failed
	}
	g.fact(protocol.Fact{Ev: protocol.EvConv, Peer: g.peers[g.me].ident, Members: next.Members, Term: next.Number.Token, Gen: next.Number.Vid})
	g.issue(now, next, "decided")
}

// next returns the view that follows the present one.
func (g *group) next(failed, joined protocol.Set) View {
	v := View{
		Number:  Number{g.lease.token, g.view.Number.Vid + 1},
		Members: g.view.Members.Minus(failed).Union(joined),
		Manager: g.me, Failed: failed, Joined: joined, Parent: g.view.Number, Epoch: g.m.term.number,
		Before: g.view.Epoch,
	}
	if g.recovered != g.view.Number {
		v.Unfinished = g.view.owed()
	}
	g.inherited(&v)
	return v
}

// lead says whether this member holds the lease and has the last view. A view that programs may not have received is announced once
// more, under this lease, before anything is decided on top of it: its manager may have died when a single member had it.
func (g *group) lead(now protocol.Time) bool {
	if !g.holdsLease(now) {
		return false
	}
	g.read()
	r := &g.reading
	r.add(g.me, g.known, g.m.settled(), &g.view)
	if !r.done(g) || g.phase != Alive {
		return r.done(g)
	}
	if g.view.Number.Token == g.lease.token || g.reported == g.view.Number && !r.best.after(&g.view) {
		return true
	}
	v := r.best
	if !g.m.holds(&v, g.me) {
		g.install(now, v, "heard")
		g.announce()
		return false
	}
	v.Number.Token, v.Manager = g.lease.token, g.me
	g.issue(now, v, "announced")
	return false
}

// form lets dead members begin: the best-ranked of a quorum of them or, without a gate, of all of them or of those that an operator says
// will do. Where it sees a member alive it waits to be taken in.
func (g *group) form(now protocol.Time) {
	all := protocol.NewSet(g.me)
	alive := false
	for r := range g.peers {
		if p := &g.peers[r]; p.up && p.spoke {
			alive = alive || p.said.Phase == Alive
			if p.said.Phase == Joining && g.m.here(protocol.Rank(r)) {
				all.Add(protocol.Rank(r))
			}
		}
	}
	ready := !alive && g.phase == Joining
	switch best := g.m.cfg.best(all) == g.me; {
	case g.m.below != nil:
		ready = ready && best && g.m.cfg.Quorums.In(all)
	case all == protocol.Everyone(len(g.peers)):
		ready = ready && best
	default:
		ready = ready && g.begin
	}
	g.want(ready)
	if !ready || g.m.below != nil && !g.lead(now) {
		return
	}
	g.begin = false
	if g.m.below != nil && g.reading.best.after(&g.view) {
		g.view = g.reading.best
	}
	next := g.next(g.view.Members, all) // all members of the last view have died in it
	g.fact(protocol.Fact{Ev: protocol.EvConv, Peer: g.peers[g.me].ident, Members: next.Members, Term: next.Number.Token, Gen: next.Number.Vid})
	g.issue(now, next, "decided")
}
