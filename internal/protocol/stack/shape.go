package stack

import "github.com/regentproject/regent/internal/protocol"

// A Shape is who is in a council, and who may do what. Ranks that no member has are in none of its sets.
type Shape struct {
	Self protocol.Rank
	// Members is how many ranks there are, Present those that a member has, Voters those that vote, and Leaders those that may lead.
	Members                  int
	Present, Voters, Leaders protocol.Set
}

// Same says whether two councils have the same members in the same roles.
func (s *Shape) Same(o *Shape) bool { return *s == *o }

// A changing authority is one of a council that changes while it runs.
type changing interface {
	// Shape returns the council that is in force; nil before any is. Another one is another value.
	Shape() *Shape
}

// shape returns the council of roles that never change.
func (c *Config) shape() *Shape {
	return &Shape{Self: c.Self, Members: c.Roles.Members, Present: protocol.Everyone(c.Roles.Members), Voters: protocol.Everyone(c.Roles.Voters()),
		Leaders: c.Roles.Leaders()}
}

// reshape notes that the authority has put another council in force. The elector is made anew: what it knew is a hint, and the ranks in
// its messages were those of the council before.
func (m *Machine) reshape() {
	a, ok := m.authority.(changing)
	if !ok {
		return
	}
	s := a.Shape()
	if s == nil || s == m.shape {
		return
	}
	h, before := &m.health, m.shape
	for len(h.peers) < s.Members {
		h.peers = append(h.peers, condition{end: protocol.Never})
	}
	gone := before.Present.Minus(s.Present)
	for r := range gone.All() {
		h.peers[r] = condition{end: protocol.Never}
		h.barred.Remove(r)
		h.drained.Remove(r)
	}
	if s.Self != before.Self {
		setMember(&h.barred, before.Self, false)
		setMember(&h.drained, before.Self, false)
		setMember(&h.barred, s.Self, !h.now.Fit())
		setMember(&h.drained, s.Self, h.now.Drained)
	}
	m.shape = s
	if before.Voters != s.Voters || before.Leaders != s.Leaders || before.Self != s.Self {
		m.elector, m.inc, m.electorWake = nil, 0, protocol.Never
		if !s.Voters.Has(m.trusted) {
			m.trusted = protocol.Nobody
		}
	}
}
