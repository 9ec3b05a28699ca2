package nerio

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// balancing is what a member knows of where groups should be led, if the council is balanced (Config.Balance).
//
// A free group goes to its place by itself, because candidates wait in its order (turn). A group that is led stays where it is, with
// one exception: a candidate that has joined since, with its member or for the first time there. (A member that the council takes in joins when it may lead.) It says so once, with the answer to a claim or in Candidates, and the leader that
// learns it hands over if the candidate goes before it. So a join moves a group once, and what becomes of it after that moves it no
// more: a member that lost a group because it was slow does not get it back, until it joins again.
type balancing struct {
	// gone are the members that have let a promise of this voter run out, this one itself if it lost a lease, at the instants in
	// since. They are back when they are heard a longest promise later: they may be dead, or as slow as they were.
	gone  protocol.Set
	since []protocol.Time
	// moving are the groups that this member hands over, until they are led elsewhere.
	moving []move
	// look says that a candidate may have joined since the last look, and due is when to look next.
	look bool
	due  protocol.Time
	// drained says that the member has been drained since it was last fit: its programs join when it is.
	drained bool
}

// A move is a group that is handed over. It counts until another member leads the group, or until.
type move struct {
	group *groupState
	until protocol.Time
}

// DefaultMoves is how many groups a leader hands over at once to balance the council, unless its configuration says otherwise.
const DefaultMoves = 8

func (m *Machine) balanced() bool { return m.cfg.Balance != nil }

// joins notes that a candidacy begins. The leader of the group has to know of the first one since the start of the member, or since it was
// undrained. Later ones are no joins: a program that has lost the group, resigned or handed it over campaigns again, and would
// get back at once what it gave.
func (m *Machine) joins(s *groupState) {
	if m.balanced() && !s.known {
		s.known, s.joined, s.joinedUntil = true, true, protocol.Never
	}
}

// arrives has all candidacies join anew, of a member that was undrained, or that may lead by now: a newcomer has no vote at first, and no
// leader hands a group over to it before it has one.
func (m *Machine) arrives() {
	if !m.balanced() {
		return
	}
	// order does not matter: each group is looked at by itself.
	for g, s := range m.groups {
		s.known = false
		if !s.candidate && !s.telling && !s.published && s.value == nil {
			delete(m.groups, g) // all that was remembered of it
		}
	}
	for _, s := range m.wanted {
		m.joins(s)
	}
}

// hasJoined says whether to tell a leader that the candidacy has begun since.
func (m *Machine) hasJoined(s *groupState) bool {
	return s.joined && m.now < s.joinedUntil && m.stands(s)
}

// answersJoined is hasJoined in the answer to a claim. A leader hears it for a while, because answers may be lost.
func (m *Machine) answersJoined(s *groupState, leads bool) bool {
	if !m.hasJoined(s) {
		return false
	}
	if leads && s.joinedUntil == protocol.Never {
		s.joinedUntil = m.now.Add(m.cfg.Longest)
	}
	return true
}

// lapse notes that a member has let a promise or a lease run out.
func (m *Machine) lapse(now protocol.Time, r protocol.Rank) {
	if b := &m.balance; m.balanced() && int(r) < len(b.since) {
		b.gone.Add(r)
		b.since[r] = now
	}
}

// back notes that a member is there.
func (m *Machine) back(now protocol.Time, r protocol.Rank) {
	if b := &m.balance; b.gone.Has(r) && now.Sub(b.since[r]) > m.cfg.Longest {
		b.gone.Remove(r)
	}
}

// ables returns the members that are able to lead.
func (m *Machine) ables() (s protocol.Set) {
	for r := range m.leaders.All() {
		if m.able(r) {
			s.Add(r)
		}
	}
	return s
}

// place returns how many members have their turn before this one in a free group. Those that are gone go last.
func (m *Machine) place(now protocol.Time, g protocol.Group) int {
	m.back(now, m.cfg.Me)
	able, gone := m.ables(), m.balance.gone
	present := able.Minus(gone)
	if !gone.Has(m.cfg.Me) {
		return m.cfg.Balance.Place(g, m.cfg.Me, present)
	}
	return present.Len() + m.cfg.Balance.Place(g, m.cfg.Me, able.Intersect(gone))
}

// goesFirst says whether this member has the first turn in a free group.
func (m *Machine) goesFirst(now protocol.Time, g protocol.Group) bool {
	switch {
	case !m.cfg.Elector:
		return true
	case m.balanced():
		return m.place(now, g) == 0
	}
	return m.first() == m.cfg.Me
}

// heir returns the candidate that a leader hands over to if nobody has named one.
func (m *Machine) heir(g protocol.Group, candidates protocol.Set) protocol.Rank {
	if !m.balanced() {
		return candidates.Min()
	}
	if present := candidates.Minus(m.barred).Minus(m.balance.gone); !present.Empty() {
		candidates = present
	}
	return m.cfg.Balance.First(g, candidates)
}

// dueBalance hands groups over to candidates that have joined since this member leads them, and that go before it. It looks once per
// renewal, as long as there is a reason to, and has at most Moves of them on their way.
func (m *Machine) dueBalance(now protocol.Time) {
	b := &m.balance
	if !m.balanced() {
		return
	}
	b.look = m.holder.TakeJoined() || b.look
	if !b.look || now < b.due || m.closing.on {
		return
	}
	b.due = now.Add(m.cfg.Renew)
	m.countMoves(now)
	b.look = len(b.moving) > 0
	// A candidate may be ahead, in a configuration by which it may lead: it waits until this member is there. One that is to leave gets nothing.
	ready := m.fast(now).Minus(m.barred).Minus(b.gone).Intersect(m.leaders).Minus(m.cfg.Leaving)
	for _, s := range m.wanted {
		l, leads := m.holder.Lease(s.group)
		if !leads || l.Stopping || l.Joined.Empty() {
			continue
		}
		b.look = b.look || m.awaits(now, s, &l)
		to := m.cfg.Balance.First(s.group, l.Candidates.Intersect(ready).With(m.cfg.Me))
		if to == m.cfg.Me || !l.Joined.Has(to) {
			continue
		}
		if len(b.moving) >= m.moves() {
			return
		}
		b.moving = append(b.moving, move{s, protocol.Never})
		m.standDown(now, s, to, protocol.Cause{Code: protocol.Balanced, Peer: to})
	}
}

// settleJoins forgets joins that gave a member no place before this one. In another order, of other weights, they would move groups that
// nobody has joined since.
func (m *Machine) settleJoins() {
	m.holder.KeepJoined(func(g protocol.Group, r protocol.Rank) bool {
		return m.cfg.Balance.First(g, protocol.Set{}.With(r).With(m.cfg.Me)) == r
	})
}

// awaits says whether a member has joined that goes before this one in a group that this one leads, and was heard lately: if it cannot
// take the group now, it may soon.
func (m *Machine) awaits(now protocol.Time, s *groupState, l *lease.Leadership) bool {
	to := m.cfg.Balance.First(s.group, l.Candidates.Intersect(l.Joined).Minus(m.cfg.Leaving).With(m.cfg.Me))
	return to != m.cfg.Me && now.Sub(m.start.peers[to].heard) <= 4*m.cfg.Longest
}

// moves is how many groups may be on their way at once.
func (m *Machine) moves() int {
	if m.cfg.Moves == 0 {
		return DefaultMoves
	}
	return m.cfg.Moves
}

// countMoves forgets moves that have come to an end: another member leads, this one leads on, or nobody has led for long.
func (m *Machine) countMoves(now protocol.Time) {
	b := &m.balance
	under := b.moving[:0]
	for _, v := range b.moving {
		l, leads := m.holder.Lease(v.group.group)
		at := m.grantor.Status(now, v.group.group)
		if !leads && v.until == protocol.Never {
			v.until = now.Add(m.lcfg.LongestPromise(m.cfg.Longest))
		}
		elsewhere := at.Leads() && at.Holder != m.me()
		if leads && l.Stopping || !leads && !elsewhere && now < v.until {
			under = append(under, v)
		}
	}
	clear(b.moving[len(under):])
	b.moving = under
}

func (m *Machine) appendBalance(s *lease.State) {
	if !m.balanced() {
		return
	}
	b := &m.balance
	s.Set(b.gone)
	for r := range b.gone.All() {
		s.Future(b.since[r].Add(m.cfg.Longest))
	}
	s.Bool(b.look)
	s.Future(b.due)
	s.Bool(b.drained)
	s.Uint(uint64(len(b.moving)))
	for i := range b.moving {
		s.Text(string(b.moving[i].group.group))
		s.Future(b.moving[i].until)
	}
}
