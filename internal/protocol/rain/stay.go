package rain

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// stay is a member's leave to go on: a quorum has said, not long ago, that it is still a member. Who is cut off thus stops by its own
// clock, and a manager that waits for as long knows that it has.
type stay struct {
	heard   []protocol.Time // when the last question left that each peer answered; 0: none
	due     protocol.Time   // when to ask again
	end     protocol.Time   // 0: nothing was heard yet in this life
	horizon protocol.HorizonID
	zero    protocol.Time // what questions count from
	born    protocol.Time // when this life began, counted likewise: what was asked before says nothing about it
	sorted  []protocol.Time
}

// ownHorizons is where the numbers of these horizons begin, above all that an authority uses.
const ownHorizons = 1 << 31

// begin starts a new life.
func (s *stay) begin(g *group, now protocol.Time) {
	g.m.lives++
	s.horizon = protocol.HorizonID(ownHorizons + g.m.lives)
	if s.zero == 0 {
		s.zero = now - 1
	}
	s.end, s.due, s.born = 0, now, now-s.zero
	clear(s.heard)
}

// expire makes a member dead that has not heard from a quorum for too long.
func (g *group) expire(now protocol.Time) {
	if g.phase == Alive && g.stay.end != 0 && now >= g.stay.end {
		g.die(protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody, Bound: g.m.cfg.Stay})
	}
}

// question asks the other members, and those that wait to be taken in and know the view as well, whether this member may stay, every
// so often.
func (g *group) question(now protocol.Time) {
	s := &g.stay
	if g.m.below == nil || g.phase != Alive || now < s.due {
		return
	}
	s.due = now.Add(g.m.cfg.Renew)
	ask := protocol.Keep(g.m.out, Stay{Group: g.name, Inc: g.m.inc, At: now - s.zero, Epoch: g.m.term.number})
	askees := g.view.Members.Union(g.waiting(now))
	for r := range askees.All() {
		if r != g.me && g.m.here(r) {
			g.m.out.Send = append(g.m.out.Send, protocol.Envelope{To: r, Message: ask})
		}
	}
	g.extend(now)
}

// onStay answers a member of this one's view. All others get no answer, and stop. Who has forgotten its views and only heard
// of one again does not vouch for anybody: there may be a later one, which it helped to decide, without who asks.
func (m *Machine) onStay(from protocol.Ident, ask *Stay) {
	if !m.takes(ask.Group) || int(from.Rank) >= m.cfg.Members || m.links == nil {
		return
	}
	if g := m.group(ask.Group); g.known && m.holds(&g.view, from.Rank) && ask.Epoch == m.term.number {
		stays := protocol.Keep(m.out, Stays{Group: ask.Group, Inc: ask.Inc, At: ask.At})
		m.out.Send = append(m.out.Send, protocol.Envelope{To: from.Rank, Message: stays})
	}
}

// onStays takes an answer: it counts from when the question left.
func (m *Machine) onStays(now protocol.Time, from protocol.Ident, a *Stays) {
	if !m.takes(a.Group) || int(from.Rank) >= m.cfg.Members || a.Inc != m.inc {
		return
	}
	g := m.group(a.Group)
	if s := &g.stay; g.phase == Alive && a.At >= s.born && a.At > s.heard[from.Rank] && a.At <= now-s.zero {
		s.heard[from.Rank] = a.At
		g.extend(now)
	}
}

// extend moves the end: to Stay after the latest instant as of which a quorum is known to have this member in its view.
func (g *group) extend(now protocol.Time) {
	s := &g.stay
	from := g.backed(now)
	if from == 0 {
		return
	}
	if end := from.Add(g.m.cfg.Rho.WaitAtMost(g.m.cfg.Stay)); end > s.end && end > now {
		g.again = g.again || s.end == 0
		s.end = end
		g.m.out.Horizons = append(g.m.out.Horizons, protocol.Horizon{ID: s.horizon, Until: end})
		g.fact(protocol.Fact{Ev: protocol.EvHorizon, Seq: uint64(s.horizon), Until: end})
	}
}

// backed returns that instant, 0 if there is none.
func (g *group) backed(now protocol.Time) protocol.Time {
	s := &g.stay
	if g.m.cfg.Quorums.In(protocol.NewSet(g.me)) {
		return now
	}
	s.sorted = append(s.sorted[:0], s.heard...)
	slices.Sort(s.sorted)
	for i := len(s.sorted) - 1; i >= 0 && s.sorted[i] > 0; i-- {
		by := protocol.NewSet(g.me)
		for r, at := range s.heard {
			if at >= s.sorted[i] {
				by.Add(protocol.Rank(r))
			}
		}
		if g.m.cfg.Quorums.In(by) {
			return s.zero + s.sorted[i]
		}
	}
	return 0
}
