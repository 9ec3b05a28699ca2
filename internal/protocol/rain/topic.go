package rain

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// topic is what a member remembers of one loss or return: the attempts by which it asked and was asked, and those that it
// confirmed and that were confirmed to it; 0: not at all.
type topic struct {
	kind  Kind
	about protocol.Rank
	// candTo and accFrom by the member that was asked, candFrom and accTo by the one that asked.
	candTo, accFrom, candFrom, accTo []uint64
}

// erase forgets what was said to a peer and by it: the link went down.
func (t *topic) erase(r protocol.Rank) {
	t.candTo[r], t.accFrom[r], t.candFrom[r], t.accTo[r] = 0, 0, 0, 0
}

// grow makes room for n peers.
func (t *topic) grow(n int) {
	for _, list := range [...]*[]uint64{&t.candTo, &t.accFrom, &t.candFrom, &t.accTo} {
		*list = append(slices.Clone(*list), make([]uint64, max(0, n-len(*list)))...)
	}
}

// topic finds what is remembered about a member; nil if nothing is and it is not to be made.
func (g *group) topic(k Kind, about protocol.Rank, create bool) *topic {
	for _, t := range g.topics {
		if t.kind == k && t.about == about {
			return t
		}
	}
	if !create {
		return nil
	}
	n := len(g.peers)
	all := make([]uint64, 4*n)
	t := &topic{kind: k, about: about, candTo: all[:n], accFrom: all[n : 2*n], candFrom: all[2*n : 3*n], accTo: all[3*n:]}
	g.topics = append(g.topics, t)
	return t
}

// forget drops all that is remembered: it belongs to a view that is over.
func (g *group) forget() {
	clear(g.topics)
	g.topics = g.topics[:0]
}

// onCand remembers that a peer asks. A dead member has no view of its own to judge by: it is asked about itself only.
func (g *group) onCand(from protocol.Rank, t *Topic) {
	g.again = true
	switch {
	case g.phase == Alive:
		if t.Number == g.view.Number {
			g.topic(t.Kind, t.About, true).candFrom[from] = t.Attempt
		}
	case t.Kind == Up && t.About == g.me:
		g.invites[from] = *t
	}
}

// onAccept remembers that a peer confirms.
func (g *group) onAccept(from protocol.Rank, t *Topic) {
	if g.phase != Alive || t.Number != g.view.Number {
		return
	}
	if known := g.topic(t.Kind, t.About, false); known != nil {
		known.accFrom[from] = t.Attempt
		g.again = true
	}
}

// onCancel forgets what a peer asked and confirmed.
func (g *group) onCancel(from protocol.Rank, t *Topic) {
	if g.invites[from].Attempt != 0 && t.Kind == Up && t.About == g.me {
		g.invites[from] = Topic{}
	}
	if g.phase != Alive || t.Number != g.view.Number {
		return
	}
	if known := g.topic(t.Kind, t.About, false); known != nil {
		known.candFrom[from], known.accFrom[from] = 0, 0
		g.again = true
	}
}

// holds says whether a topic is so, as this member sees it now.
func (g *group) holds(t *topic, joining *protocol.Set) bool {
	if t.kind == Dn {
		return g.view.Members.Has(t.about) && g.lost(t.about)
	}
	return joining.Has(t.about)
}

// cancel takes back what is not so any more, and forgets having said it: otherwise it would never be said again (E-R5).
func (g *group) cancel(joining *protocol.Set) {
	if g.m.cfg.Form != Omega {
		return
	}
	for _, t := range g.topics {
		if g.holds(t, joining) {
			continue
		}
		for r := range g.peers {
			if t.candTo[r] == 0 && t.accTo[r] == 0 {
				continue
			}
			about := g.on(t, max(t.candTo[r], t.accTo[r]))
			t.candTo[r], t.accTo[r], t.accFrom[r] = 0, 0, 0
			g.say(protocol.EvCancel, protocol.Rank(r), &about)
			g.send(protocol.Rank(r), &Cancel{Topic: about})
		}
	}
}

// on words a topic of the present view.
func (g *group) on(t *topic, attempt uint64) Topic {
	return Topic{Group: g.name, Number: g.view.Number, Kind: t.kind, About: t.about, Attempt: attempt}
}

// say states that something is said to a peer.
func (g *group) say(ev protocol.Ev, to protocol.Rank, t *Topic) {
	g.fact(protocol.Fact{Ev: ev, Peer: g.peers[to].ident, Members: protocol.NewSet(t.About), Seq: t.Attempt,
		Term: t.Number.Token, Gen: t.Number.Vid, Why: t.Kind.String()})
}

// ask asks all members that are present, and who returns itself, about each loss and each return. Only who sees no better-ranked
// member does: members, not dead ones (E-R2).
func (g *group) ask(present, joining *protocol.Set) {
	for j := range g.view.Members.Minus(*present).All() {
		g.askAbout(g.topic(Dn, j, true), present)
	}
	for j := range joining.All() {
		to := present.With(j)
		g.askAbout(g.topic(Up, j, true), &to)
	}
}

func (g *group) askAbout(t *topic, to *protocol.Set) {
	for i := range to.All() {
		if i == g.me || t.candTo[i] != 0 {
			continue
		}
		g.attempt++
		t.candTo[i] = g.attempt
		about := g.on(t, g.attempt)
		g.say(protocol.EvCand, i, &about)
		g.send(i, &Cand{Topic: about})
	}
}

// accept confirms what this member sees too, to the best-ranked member that it sees.
func (g *group) accept(present, joining *protocol.Set) {
	for _, t := range g.topics {
		if !g.holds(t, joining) {
			continue
		}
		for s := range present.All() {
			if t.candFrom[s] == 0 || t.accTo[s] == t.candFrom[s] || s == g.me || g.m.cfg.best(*present) != s {
				continue
			}
			t.accTo[s] = t.candFrom[s]
			g.confirm(s, g.on(t, t.accTo[s]))
		}
	}
}

// confirm sends an accept. Who holds the lease and confirms another's candidacy owes it the lease.
func (g *group) confirm(to protocol.Rank, t Topic) {
	g.say(protocol.EvAccept, to, &t)
	g.send(to, &Accept{Topic: t})
	if g.phase == Alive {
		g.lease.owed = true
	}
}

// acceptInvitations lets a dead member confirm that it is back. It judges who is better ranked by the asker's view, not by its own old
// one (E-R3), and leaves out who has said that it is dead.
func (g *group) acceptInvitations() {
	for s := range g.invites {
		t := &g.invites[s]
		p := &g.peers[s]
		if t.Attempt == 0 || !p.up || !p.spoke || p.said.View.Number != t.Number {
			continue
		}
		var seen protocol.Set
		for r := range p.said.View.Members.All() {
			if o := &g.peers[r]; g.m.holds(&p.said.View, r) && o.up && (!o.spoke || o.said.Phase == Alive) {
				seen.Add(r)
			}
		}
		if g.m.cfg.best(seen) == protocol.Rank(s) {
			g.confirm(protocol.Rank(s), *t)
			*t = Topic{}
		}
	}
}

// converged returns the losses and returns that everybody has confirmed. All losses must be confirmed, or nothing is; a return that is
// not does not hold up the others, and neither does one of a member whose link to a better-ranked one that returns is broken: one of them
// would have to leave again.
func (g *group) converged(present, joining *protocol.Set) (failed, joined protocol.Set, ok bool) {
	if g.m.cfg.best(*present) != g.me {
		return failed, joined, false
	}
	failed = g.view.Members.Minus(*present)
	for j := range failed.All() {
		if !g.confirmed(Dn, j, present) {
			return protocol.Set{}, protocol.Set{}, false
		}
	}
	known := g.survey()
	for j := range joining.All() {
		by, apart := present.With(j), known[j].Intersect(joined)
		if apart.Empty() && g.confirmed(Up, j, &by) {
			joined.Add(j)
		}
	}
	return failed, joined, !failed.Empty() || !joined.Empty()
}

// confirmed says whether all that were asked have confirmed the present attempt: those that can still be asked, not the one that it is
// about (E-R1).
func (g *group) confirmed(k Kind, j protocol.Rank, by *protocol.Set) bool {
	t := g.topic(k, j, false)
	if t == nil {
		return false
	}
	for i := range by.All() {
		if i != g.me && (t.candTo[i] == 0 || t.accFrom[i] != t.candTo[i]) {
			return false
		}
	}
	return true
}
