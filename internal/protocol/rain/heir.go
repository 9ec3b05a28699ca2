package rain

import (
	"math"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
)

// This file is what becomes of groups whose council is given up (docs/members.md, F6).

// maxHeirs bounds what a record says.
const maxHeirs = math.MaxInt32

// halted is how far a member has got with councils that are given up.
type halted struct {
	// heirs is how many were given up before the one that the member's views are of.
	heirs int
	// stopped says that the member has agreed to give the present one up, and waits.
	stopped bool
}

// own says whether a message is one of this protocol's, and not the authority's.
func own(msg protocol.Message) bool {
	switch msg.(type) {
	case *Stay, *Stays, link.Message:
		return true
	}
	return false
}

// halt follows whether the member has agreed to give its council up. It takes part in nothing then: it is out of its groups, and takes and answers
// no word, so that nobody stays by its leave.
func (m *Machine) halt() {
	if stopped := m.cfg.Council.Stopped(); stopped != m.halted.stopped {
		m.halted.stopped = stopped
		if stopped {
			m.dismiss()
		}
	}
}

// dismiss takes the member out of its groups.
func (m *Machine) dismiss() {
	for _, g := range m.groups {
		if g.phase == Alive {
			g.die(protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody})
		}
	}
}

// inherit takes what the member knows on to a council that goes on from its own. Links begin anew, so that nothing comes that was said before. A
// view of a configuration that the survivors have never heard of is forgotten: no member can tell any more which members it names.
func (m *Machine) inherit(now protocol.Time) {
	parents := m.term.conf.Parents
	if len(parents) <= m.halted.heirs {
		return
	}
	last := parents[m.halted.heirs].Number
	m.halted.heirs = len(parents)
	m.dismiss()
	for r := range protocol.Everyone(m.cfg.Members).Without(m.cfg.Self).All() {
		m.vacate(now, r)
	}
	for _, g := range m.groups {
		if g.view.Epoch > last {
			g.view, g.reported, g.recovered = View{}, Number{}, Number{}
		}
	}
	m.note()
}

// old says whether a view is of a council that was given up; the empty one is, if one was.
func (m *Machine) old(v *View) bool { return m.before(v.Epoch) }

// first says whether a view is the first one of a council that goes on from another.
func (m *Machine) first(v *View) bool { return m.before(v.Before) && !m.old(v) }

// before says whether a number is that of a configuration of a council that was given up.
func (m *Machine) before(number uint64) bool {
	if m.term.conf == nil {
		return false
	}
	p := m.term.conf.Parent()
	return p != nil && number <= p.Number
}

// survivors are the members that were there before the council was given up.
func (m *Machine) survivors() (s protocol.Set) {
	number := m.term.conf.Parent().Number
	for i := range m.term.conf.Members {
		if x := &m.term.conf.Members[i]; x.Since <= number {
			s.Add(x.Seat)
		}
	}
	return s
}

// inherited completes the first view of a council that goes on from another, of a group that survivors know. Views that only lost members knew may
// have had any member of the council that was given up, so all of these count as not recovered, but for survivors that know that they were in none.
func (g *group) inherited(v *View) {
	if !g.m.first(v) || v.Parent == (Number{}) {
		return
	}
	c := g.m.term.conf
	for i := range c.Parents {
		number := c.Parents[i].Number
		if number < v.Before {
			continue
		}
		var s protocol.Set
		add := func(seat protocol.Rank, since uint64) {
			named := v.Failed.Has(seat) && since <= v.Before
			knows := g.reading.known.Has(seat) && g.m.is(seat, number)
			if !named && !knows {
				s.Add(seat)
			}
		}
		for j := range c.Members {
			if x := &c.Members[j]; x.Since <= number {
				add(x.Seat, x.Since)
			}
		}
		for j := range c.Former {
			if x := &c.Former[j]; x.Since <= number && number < x.Until {
				add(x.Seat, x.Since)
			}
		}
		v.Unfinished = protocol.AddLoss(v.Unfinished, protocol.Loss{Number: number, Members: s})
	}
}
