package hall

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// note takes note of a message that came from a peer and is proven to have taken at most bound. It returns whether the
// message counts: it does if it is fast and, with Calm, if its sender is not one that was lost and came back only lately.
func (m *Machine) note(now protocol.Time, r protocol.Rank, bound, limit time.Duration) bool {
	p := &m.peers[r]
	if bound > limit {
		p.slow = bound
		return false
	}
	m.touch(now, r)
	if m.cfg.Calm > 0 && p.lost && r != m.cfg.Self && now.Sub(p.since) < m.cfg.Calm {
		return false
	}
	p.heard, p.slow, p.lost = now, 0, false
	m.alive.Add(r)
	m.stale = min(m.stale, now.Add(m.cfg.Expires))
	m.purge(now)
	return true
}

// deafTo says whether a candidate has not heard this member for so long, by its own Elections, that neither can lead the
// other. If it counted as alive it would keep this member from leading for ever, being better, or never saying yes. One
// that asks only now and then cannot be distinguished from one that has just begun to hear.
func (m *Machine) deafTo(now protocol.Time, r protocol.Rank, e *Election) bool {
	p := &m.peers[r]
	if now.Sub(p.asked) > m.cfg.Period+m.cfg.Rho.WaitAtLeast(m.cfg.spread(m.cfg.Window())) {
		p.unlisted = 0
	}
	p.asked = now
	switch {
	case r == m.cfg.Self, m.cfg.Calm > 0 && p.lost:
		return false
	case e.Alive.Has(m.cfg.Self):
		p.unlisted = 0
		return false
	case p.unlisted == 0:
		p.unlisted = now
	}
	return now.Sub(p.unlisted) >= m.cfg.Expires
}

// touch notes that a fast message came from a peer. What the message is about does not matter: a node of a tree that hands on what
// others say is not silent.
func (m *Machine) touch(now protocol.Time, r protocol.Rank) {
	if m.cfg.Calm == 0 {
		return
	}
	p := &m.peers[r]
	if p.last == 0 || now.Sub(p.last) >= m.cfg.Expires {
		p.since = now
	}
	p.last = now
}

// purge forgets members of which nothing fast was heard for too long.
func (m *Machine) purge(now protocol.Time) {
	if now < m.stale {
		return
	}
	m.stale = protocol.Never
	for i, word := range m.alive {
		for ; word != 0; word &= word - 1 {
			r := lowest(i, word)
			p := &m.peers[r]
			if end := p.heard.Add(m.cfg.Expires); now < end {
				m.stale = min(m.stale, end)
				continue
			}
			m.alive.Remove(r)
			p.lost = p.lost || m.grant.to.Rank == r && now.Sub(p.last) >= m.cfg.Expires
		}
	}
}

// key is a member's place in the order in which members are preferred: its rank, turned by the rotation.
func (m *Machine) key(r protocol.Rank) int {
	if m.cfg.Rotate == 0 {
		return int(r)
	}
	n := m.cfg.Members
	return (int(r) - int(m.turn%uint64(n)) + n) % n
}

// best returns the first of a set in that order, or Nobody.
func (m *Machine) best(s *protocol.Set) protocol.Rank {
	if m.cfg.Rotate == 0 {
		return s.Min()
	}
	for i := range m.cfg.Members {
		if r := protocol.Rank((i + int(m.turn%uint64(m.cfg.Members))) % m.cfg.Members); s.Has(r) {
			return r
		}
	}
	return protocol.Nobody
}

// better returns the best member that is alive and preferred to this one, or Nobody, and when the last of those that are
// preferred no longer counts unless it is heard again.
func (m *Machine) better() (protocol.Rank, protocol.Time) {
	best := m.best(&m.alive)
	if best == protocol.Nobody || m.key(best) >= m.key(m.cfg.Self) {
		return protocol.Nobody, 0
	}
	var until protocol.Time
	for i, word := range m.alive {
		for ; word != 0; word &= word - 1 {
			if r := lowest(i, word); m.key(r) < m.key(m.cfg.Self) {
				until = max(until, m.peers[r].heard.Add(m.cfg.Expires))
			}
		}
	}
	return best, until
}

// rotate takes over a rotation from a fast message, if it is ahead. The member that comes first by it tries at once, the others when
// it has had time to.
func (m *Machine) rotate(now protocol.Time, turn uint64) {
	if m.cfg.Rotate == 0 || turn <= m.turn {
		return
	}
	m.turn = turn
	if !m.open || m.lead.on || m.pend.on {
		return
	}
	m.cand = now.Add(m.cfg.Period)
	if m.key(m.cfg.Self) == 0 {
		m.cand = now
	}
}

// blame says why nothing fast came from a peer: it is slow, or silent.
func (m *Machine) blame(now protocol.Time, r protocol.Rank) protocol.Cause {
	p := &m.peers[r]
	if p.slow != 0 && p.slow != protocol.Unknown {
		return protocol.Cause{Code: protocol.SlowLink, Peer: r, Bound: p.slow}
	}
	return protocol.Cause{Code: protocol.Suspected, Peer: r, Bound: now.Sub(p.heard)}
}
