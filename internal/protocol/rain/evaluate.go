package rain

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
)

// evaluate applies all rules to what is so now, in the order of PROTOCOLS §6.3, until nothing changes any more.
func (g *group) evaluate(now protocol.Time) {
	g.question(now)
	if !g.again && now < g.due {
		return
	}
	g.tellLinks()
	for range 8 {
		g.again = false
		g.rules(now)
		if !g.again {
			break
		}
	}
	g.publish()
	g.stateNode()
	g.due = g.wake(now)
}

func (g *group) rules(now protocol.Time) {
	g.judge(now)
	g.standings(now)
	if g.phase == Alive {
		g.leaveIfCutOff(now)
	}
	if g.phase != Alive {
		if g.phase == Joining {
			g.acceptInvitations()
		}
		g.form(now)
		return
	}
	present, joining := g.present(), g.joining()
	g.cancel(&joining)
	if g.m.cfg.best(present) == g.me {
		g.ask(&present, &joining)
	}
	g.accept(&present, &joining)
	g.stall(now, &present, &joining)
	if g.phase != Alive {
		return
	}
	g.commit(now)
	g.decide(now, &present, &joining)
}

// leaveIfCutOff makes a member dead that sees too few others. Those that wait to be taken in count, and for a while those that are
// about to: with them it can go on.
func (g *group) leaveIfCutOff(now protocol.Time) {
	seen := g.linked().Union(g.waiting(now))
	enough := seen.Len() > 1 || g.view.Members.Len() == 1
	if g.m.cfg.gated() {
		enough = g.m.cfg.Quorums.In(seen)
	}
	if !enough || g.unmanaged(g.linked()) {
		g.die(protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody})
	}
}

// unmanaged says that nobody is present who may manage, and that somebody who may is dead and waits: those that are left cannot take it in,
// and it does not begin anew while it sees them alive.
func (g *group) unmanaged(present protocol.Set) bool {
	if g.m.cfg.best(present) != protocol.Nobody {
		return false
	}
	for j := range g.m.cfg.Leaders.All() {
		if p := &g.peers[j]; p.up && p.spoke && p.said.Phase == Joining {
			return true
		}
	}
	return false
}

// The states of a link, by the figure of the paper: to a member, and to one that is none. One to a member that has to leave is ours.
const (
	connected = "connected"
	lost      = "lost"
	failing   = "failing"
	isolated  = "isolated"
	regained  = "regained"
)

// standings states what has become of the links, and keeps the time for which members are lost.
func (g *group) standings(now protocol.Time) {
	for r := range g.peers {
		j := protocol.Rank(r)
		p := &g.peers[r]
		if j == g.me {
			continue
		}
		is := isolated
		switch member := g.view.Members.Has(j); {
		case member && p.up && g.failing.Has(j) && !g.died(j):
			is = failing
		case member && g.lost(j):
			is = lost
		case member:
			is = connected
		case p.up:
			is = regained
		}
		switch {
		case is != lost && is != regained:
			p.since, p.complained = protocol.Never, false
		case p.since == protocol.Never || is != p.standing:
			p.since, p.complained = now, false
		}
		if is != p.standing {
			p.standing = is
			g.fact(protocol.Fact{Ev: protocol.EvPeer, Peer: p.ident, Why: is})
		}
	}
}

// stateNode states the node's own state, by the same figure.
func (g *group) stateNode() {
	is := "alive"
	switch {
	case g.phase != Alive:
		is = "dead"
	case g.asks():
		is = "candidate"
	case g.confirms():
		is = "supporter"
	case g.view.Manager == g.me && g.reported == g.view.Number:
		is = "manager"
	}
	if is != g.private {
		g.private = is
		g.fact(protocol.Fact{Ev: protocol.EvNode, Why: is})
	}
}

func (g *group) asks() bool     { return g.remembers(func(t *topic) []uint64 { return t.candTo }) }
func (g *group) confirms() bool { return g.remembers(func(t *topic) []uint64 { return t.accTo }) }

func (g *group) remembers(what func(*topic) []uint64) bool {
	for _, t := range g.topics {
		for _, attempt := range what(t) {
			if attempt != 0 {
				return true
			}
		}
	}
	return false
}

// stall reports links that are broken, and only they, for too long. Members of which none may manage leave after a while: there is
// nobody to agree with.
func (g *group) stall(now protocol.Time, present, joining *protocol.Set) {
	stalled := protocol.Nobody
	for j := range g.view.Members.Minus(*present).All() {
		if p := &g.peers[j]; !p.up && g.alone(j, present) {
			g.complain(now, j, g.me)
			if p.complained {
				stalled = j
			}
			if e := g.m.cfg.Evict; e > 0 && g.m.cfg.best(*present) == protocol.Nobody && now.Sub(p.since) >= e {
				g.die(protocol.Cause{Code: protocol.Stalled, Peer: j, Bound: now.Sub(p.since)})
				return
			}
		}
	}
	for j := range joining.All() {
		if i := g.missing(j, present); i != protocol.Nobody {
			g.complain(now, j, i)
		}
	}
	if stalled != g.stalled {
		g.stalled = stalled
		if g.delivered == g.view.Number {
			g.publishView(protocol.Cause{Code: protocol.Stalled, Peer: stalled, Bound: g.m.cfg.Stall})
		}
	}
}

// alone says whether others do not confirm that j is lost: the best-ranked member has not asked, or not all have answered.
func (g *group) alone(j protocol.Rank, present *protocol.Set) bool {
	if best := g.m.cfg.best(*present); best != g.me {
		t := g.topic(Dn, j, false)
		return t == nil || best == protocol.Nobody || t.candFrom[best] == 0
	}
	return !g.confirmed(Dn, j, present)
}

// missing returns a member that does not confirm the return of j, though j does; Nobody if there is none.
func (g *group) missing(j protocol.Rank, present *protocol.Set) protocol.Rank {
	t := g.topic(Up, j, false)
	if t == nil || t.accFrom[j] == 0 || t.accFrom[j] != t.candTo[j] {
		return protocol.Nobody
	}
	for i := range present.All() {
		if i != g.me && t.accFrom[i] != t.candTo[i] {
			return i
		}
	}
	return protocol.Nobody
}

// complain states once that j cannot be agreed on because of its link to i.
func (g *group) complain(now protocol.Time, j, i protocol.Rank) {
	p := &g.peers[j]
	if s := g.m.cfg.Stall; s == 0 || p.complained || now.Sub(p.since) < s {
		return
	}
	p.complained = true
	ends := protocol.NewSet(i, j)
	g.fact(protocol.Fact{Ev: protocol.EvStall, Peer: p.ident, Members: ends, Why: fmt.Sprintf("%v-%v", min(i, j), max(i, j))})
}

// wake returns when time alone may change something.
func (g *group) wake(now protocol.Time) protocol.Time {
	at := protocol.Never
	if g.phase != Alive {
		return at
	}
	if g.m.below != nil {
		at = g.stay.due
		if g.stay.end != 0 {
			at = min(at, g.stay.end)
		}
		if p := &g.pending; p.number == g.view.Number && g.reported != p.number && p.until > now {
			at = min(at, p.until)
		}
	}
	for r := range g.peers {
		if when := g.peers[r].stopping.Add(g.m.cfg.Evict); g.peers[r].said.Phase == Stopping && when > now {
			at = min(at, when)
		}
	}
	for _, r := range g.rifts {
		if when := r.since.Add(g.m.cfg.Evict); when > now {
			at = min(at, when)
		}
	}
	for r := range g.peers {
		p := &g.peers[r]
		if p.since == protocol.Never {
			continue
		}
		for _, length := range [...]protocol.Time{protocol.Time(g.m.cfg.Stall), protocol.Time(g.m.cfg.Evict)} {
			if when := p.since + length; length > 0 && when > now {
				at = min(at, when)
			}
		}
	}
	return at
}

// publish tells the program of a view that was reported, once the member's leave to go on is there too.
func (g *group) publish() {
	if g.phase != Alive || g.reported != g.view.Number || g.delivered == g.view.Number || g.m.below != nil && g.stay.end == 0 || !g.m.names(&g.view) {
		return
	}
	g.delivered = g.view.Number
	g.publishView(protocol.Cause{Code: protocol.AllAgree, Peer: g.view.Manager})
}

func (g *group) publishView(cause protocol.Cause) {
	v := &g.view
	manager := g.peers[v.Manager].ident
	if v.Manager == g.me {
		manager.Inc = g.m.inc
	}
	until, horizon := protocol.Never, protocol.HorizonID(0)
	if g.m.below != nil {
		horizon = g.stay.horizon
		g.m.out.Horizons = append(g.m.out.Horizons, protocol.Horizon{ID: horizon, Until: g.stay.end})
	}
	g.shown = protocol.View{
		Group: g.name, Domain: protocol.Consistent, Leader: manager, Term: v.Number.Token, Horizon: horizon, Until: until,
		Support: v.Members, Stop: g.retiring != (protocol.Cause{}), Cause: cause,
		Agreed: &protocol.Agreed{Vid: v.Number.Vid, Number: v.Epoch, Before: v.Before, Failed: v.Failed, Joined: v.Joined, Unfinished: v.Unfinished,
			Recover: v.Manager == g.me && g.recovered != v.Number, Stalled: g.stalled},
	}
	g.m.out.Views = append(g.m.out.Views, g.shown)
}

// publishDead tells the program that its member is of no view; stop asks it to stop.
func (g *group) publishDead(cause protocol.Cause, stop bool) {
	g.m.out.Views = append(g.m.out.Views, protocol.View{Group: g.name, Domain: protocol.Consistent, Leader: protocol.NoIdent, Stop: stop, Cause: cause})
}
