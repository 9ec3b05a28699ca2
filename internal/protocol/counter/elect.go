package counter

import "github.com/regentproject/regent/internal/protocol"

// least returns the member with the least counter; of several the best-ranked one (task T3). Where there are two tables the
// lesser counter of a member counts (tasks T3/T5).
func (m *Machine) least() protocol.Rank {
	best, leader := uint64(0), protocol.Nobody
	first := m.sources[0].Table().counts
	for r := range first {
		c := first[r]
		for _, s := range m.sources[1:] {
			c = min(c, s.Table().counts[r])
		}
		if leader == protocol.Nobody || c < best {
			best, leader = c, protocol.Rank(r)
		}
	}
	return leader
}

// elect publishes the leader if that is news. Before enough members have reported what they know there is none.
func (m *Machine) elect() {
	m.ready = m.ready || m.learned()
	if !m.ready {
		return
	}
	leader := m.Ident(m.least())
	switch {
	case m.blocked != protocol.Never && m.config.Limit > 0 && m.shown >= m.config.Limit:
		return // it has no opinion
	case leader == m.leader:
		return
	case leader.Rank == m.leader.Rank && m.leader.Inc != 0:
		m.publish(leader, protocol.Cause{Code: protocol.Restarted, Peer: leader.Rank})
	case m.leader.Rank == protocol.Nobody || leader.Rank == m.leader.Rank || m.why.Code == protocol.Unexplained:
		m.publish(leader, protocol.Cause{Code: protocol.Elected, Peer: leader.Rank})
	default:
		m.publish(leader, m.why)
	}
}

func (m *Machine) learned() bool {
	for _, s := range m.sources {
		if !s.Learned() {
			return false
		}
	}
	return true
}

// publish makes a new leader known, or that there is none.
func (m *Machine) publish(leader protocol.Ident, why protocol.Cause) {
	m.leader = leader
	m.out.Views = append(m.out.Views, protocol.View{Group: m.config.Group, Leader: leader, Until: protocol.Never, Cause: why})
	m.State(protocol.Fact{Ev: protocol.EvWeak, Peer: leader})
}
