package rain

import "github.com/regentproject/regent/internal/protocol"

// One broken link between two members that are both well holds everything up: what they see differs for good. So after a while one
// of its ends has to leave, and this file says which. No end decides that. Every member tells all others which of its links are
// broken (Links), and those that are no end of the link look for the fewest members that explain all of them. An end that is among these is as good
// as lost to them: the best-ranked of the others asks, all confirm, and a view is decided, as after any loss. A link that broke
// counts against both of its ends until it works again, in whatever view, also if one of them has left. So a member that loses
// its links one by one is found out at the second one, however slowly that goes.

// A rift is a broken link between two members of the view.
type rift struct {
	a, b  protocol.Rank
	since protocol.Time
}

// A survey is which links are broken, as far as this member hears: by rank, the members without a link to it, the same from both ends.
type survey []protocol.Set

// broken returns the peers to which this member's link broke and does not work again yet.
func (g *group) broken() protocol.Set {
	var s protocol.Set
	for r := range g.peers {
		if g.peers[r].broke {
			s.Add(protocol.Rank(r))
		}
	}
	return s
}

// evicts says whether ends of broken links are made to leave.
func (g *group) evicts() bool { return g.m.cfg.Evict > 0 && g.m.cfg.Form == Omega }

// tellLinks tells the peers what has become of this member's links, if they do not know.
func (g *group) tellLinks() {
	if !g.evicts() {
		return
	}
	broken := g.broken()
	for r := range g.peers {
		if p := &g.peers[r]; p.up && p.sent != broken {
			p.sent = broken
			g.send(protocol.Rank(r), &Links{Group: g.name, Broken: broken})
		}
	}
}

// onLinks takes a peer's word on its links.
func (g *group) onLinks(from protocol.Rank, l *Links) {
	g.peers[from].lacks = l.Broken.Intersect(protocol.Everyone(len(g.peers))).Without(from)
	g.again = true
}

// survey puts together what this member sees and what its peers have said. A peer to which none of them has a link is gone, and its
// links count against nobody.
func (g *group) survey() survey {
	all := make(survey, len(g.peers))
	all[g.me] = g.broken()
	heard := protocol.NewSet(g.me)
	for r := range g.peers {
		if p := &g.peers[r]; p.up && p.spoke {
			heard.Add(protocol.Rank(r))
			all[r] = p.lacks.Without(g.me) // this member sees that link itself
		}
	}
	for a := range heard.All() {
		for b := range all[a].All() {
			all[b].Add(a)
		}
	}
	for r := range all {
		if j := protocol.Rank(r); !heard.Has(j) && all[r].Contains(heard) {
			for i := range all[r].All() {
				all[i].Remove(j)
			}
			all[r] = protocol.Set{}
		}
	}
	return all
}

// judge works out which members have to leave because of links that are broken for too long. This one may be among them, and then waits for
// the view without it.
func (g *group) judge(now protocol.Time) {
	g.failing = protocol.Set{}
	if !g.evicts() || g.phase != Alive {
		g.rifts = g.rifts[:0]
		return
	}
	all := g.survey()
	before := g.rifts
	g.rifts = nil
	for a := range g.view.Members.All() {
		both := all[a].Intersect(g.view.Members)
		for b := range both.All() {
			if a < b && !g.died(a) && !g.died(b) {
				g.rifts = append(g.rifts, rift{a, b, opened(before, a, b, now)})
			}
		}
	}
	causes := all.causes()
	for _, r := range g.rifts {
		switch {
		case now.Sub(r.since) < g.m.cfg.Evict:
		case causes.Has(r.a) && !(causes.Has(r.b) && all.worse(r.b, r.a)):
			g.failing.Add(r.a)
		default:
			g.failing.Add(r.b)
		}
	}
}

// worse says whether x has more broken links than y or, with as many, the lower rank.
func (s survey) worse(x, y protocol.Rank) bool {
	if a, b := s[x].Len(), s[y].Len(); a != b {
		return a > b
	}
	return x > y
}

// maxCauses is up to how many members a smallest set of causes is searched for. The search takes 2^maxCauses steps at most.
const maxCauses = 8

// causes returns the fewest members that explain all broken links: of every broken link one end is among them. A member that has lost a link to each
// of two that fail is thus not taken for a third. Of two ends that explain as much it is the lower-ranked one.
func (s survey) causes() protocol.Set {
	for most := range maxCauses {
		if found, ok := s.explain(protocol.Set{}, most); ok {
			return found
		}
	}
	found, _ := s.explain(protocol.Set{}, len(s))
	return found
}

// explain adds as many members as it may to some, so that all of them explain all broken links. It tries the worst member that is left, and then,
// in its place, all to which it has lost its link.
func (s survey) explain(some protocol.Set, most int) (protocol.Set, bool) {
	worst, left := protocol.Nobody, protocol.Set{}
	for r := range s {
		x := protocol.Rank(r)
		if rest := s[r].Minus(some); !some.Has(x) && !rest.Empty() && rest.Len() >= left.Len() {
			worst, left = x, rest
		}
	}
	if worst == protocol.Nobody {
		return some, true
	}
	if most == 0 {
		return some, false
	}
	if found, ok := s.explain(some.With(worst), most-1); ok {
		return found, true
	}
	if n := left.Len(); n > most || most == len(s) {
		return some, false
	}
	return s.explain(some.Union(left), most-left.Len())
}

// opened returns since when a link has been broken.
func opened(rifts []rift, a, b protocol.Rank, now protocol.Time) protocol.Time {
	for _, r := range rifts {
		if r.a == a && r.b == b {
			return r.since
		}
	}
	return now
}
