package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A grant is one unbroken promise of one voter, with the groups assigned in it. When the voter crashes it lives on as a
// ghost: whoever relies on it does not know of the crash.
type grant struct {
	voter protocol.Ident
	to    protocol.Ident
	gen   uint64
	until protocol.Time // F, on the clock that the voter had at the instant at
	at    sim.Real
	ghost bool
	// groups are assigned, terms are those of their claims.
	groups []protocol.Group
	terms  []uint64
}

// grants follows what all voters have promised in the domain Quorum.
type grants struct {
	truth Truth
	of    [][]*grant // by rank of the voter
}

func newGrants(t Truth) grants { return grants{truth: t, of: make([][]*grant, t.Members())} }

// follow takes a record in. It returns the grant that the record is about, nil if there is none.
func (s *grants) follow(r *sim.Record) *grant {
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		s.haunt(r.Node, 0)
		return nil
	}
	if r.Dom != protocol.Quorum {
		return nil
	}
	switch r.Ev {
	case protocol.EvPromise:
		s.haunt(r.Node, r.Inc)
		g := s.find(r.Node, r.Peer, r.Gen)
		if g == nil {
			g = &grant{voter: protocol.Ident{Rank: r.Node, Inc: r.Inc}, to: r.Peer, gen: r.Gen}
			s.of[r.Node] = append(s.of[r.Node], g)
		}
		g.until, g.at = r.Until, r.T
		return g
	case protocol.EvBreak:
		g := s.find(r.Node, r.Peer, r.Gen)
		if g != nil {
			g.groups, g.terms, g.ghost = nil, nil, true
		}
		return g
	case protocol.EvAssign:
		for _, g := range s.of[r.Node] {
			if !g.ghost {
				g.unassign(r.Group)
			}
		}
		g := s.find(r.Node, r.Peer, r.Gen)
		if g != nil {
			g.groups, g.terms = append(g.groups, r.Group), append(g.terms, r.Term)
		}
		return g
	case protocol.EvUnassign:
		for _, g := range s.of[r.Node] {
			if !g.ghost && g.to == r.Peer && g.unassign(r.Group) {
				return g
			}
		}
	}
	return nil
}

// haunt makes ghosts of all grants of the voter that are not of the given incarnation, and forgets ghosts that are over.
func (s *grants) haunt(r protocol.Rank, inc protocol.Inc) {
	keep := s.of[r][:0]
	for _, g := range s.of[r] {
		if g.voter.Inc != inc {
			g.ghost = true
		}
		if !g.ghost || len(g.groups) > 0 && s.end(g) > s.truth.Now() {
			keep = append(keep, g)
		}
	}
	s.of[r] = keep
}

// find returns the grant that is not a ghost.
func (s *grants) find(r protocol.Rank, to protocol.Ident, gen uint64) *grant {
	for _, g := range s.of[r] {
		if !g.ghost && g.to == to && g.gen == gen {
			return g
		}
	}
	return nil
}

// holder returns the grant in which the voter, ghosts apart, has assigned the group; nil if there is none.
func (s *grants) holder(r protocol.Rank, g protocol.Group) (*grant, uint64) {
	for _, x := range s.of[r] {
		if x.ghost {
			continue
		}
		if i := x.index(g); i >= 0 {
			return x, x.terms[i]
		}
	}
	return nil, 0
}

func (g *grant) index(group protocol.Group) int {
	for i, x := range g.groups {
		if x == group {
			return i
		}
	}
	return -1
}

func (g *grant) unassign(group protocol.Group) bool {
	i := g.index(group)
	if i < 0 {
		return false
	}
	g.groups = append(g.groups[:i:i], g.groups[i+1:]...)
	g.terms = append(g.terms[:i:i], g.terms[i+1:]...)
	return true
}

// end returns when the promise ends if it is not renewed.
func (s *grants) end(g *grant) sim.Real { return s.truth.Clock(g.voter.Rank).Reach(g.at, g.until) }

// backers returns the voters that have assigned the group to the holder in a promise that ends at t or later, ghosts
// included.
func (s *grants) backers(group protocol.Group, to protocol.Ident, t sim.Real) protocol.Set {
	var set protocol.Set
	for r, all := range s.of {
		for _, g := range all {
			if g.to == to && g.index(group) >= 0 && s.end(g) >= t {
				set.Add(protocol.Rank(r))
			}
		}
	}
	return set
}

// holders lists whom any voter has assigned the group to, ghosts included.
func (s *grants) holders(group protocol.Group) []protocol.Ident {
	var list []protocol.Ident
	for _, all := range s.of {
		for _, g := range all {
			if g.index(group) >= 0 && !contains(list, g.to) {
				list = append(list, g.to)
			}
		}
	}
	return list
}

func contains(list []protocol.Ident, x protocol.Ident) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}
