package detect

import (
	"math/rand/v2"

	"github.com/regentproject/regent/internal/protocol"
)

// Corrupt puts the machine into a state to which no run leads.
func (m *Machine) Corrupt(r *rand.Rand) protocol.Fact {
	m.round, m.term = protocol.ArbitraryNumber(r), protocol.ArbitraryNumber(r)
	m.leader = protocol.Ident{Rank: protocol.Rank(r.IntN(m.config.Members)), Inc: protocol.Inc(r.IntN(3))}
	m.trust = protocol.Everyone(m.config.Members + r.IntN(2)) // perhaps one that does not exist
	for odd, q := r.IntN(2) == 0, protocol.Rank(0); odd && int(q) < m.config.Members; q++ {
		if r.IntN(2) == 0 {
			m.trust.Remove(q)
		}
	}
	m.last, m.inc, m.seq = protocol.ArbitraryNumber(r), protocol.Inc(r.IntN(3)), protocol.ArbitraryNumber(r)/4
	m.nextOK, m.deadline, m.since = protocol.ArbitraryTime(r), protocol.ArbitraryTime(r), protocol.ArbitraryTime(r)
	for q := range m.acks {
		m.acks[q] = protocol.ArbitraryTime(r)
	}
	return protocol.Fact{Ev: protocol.EvWeak, Peer: m.leader, Term: m.term, Members: m.trust}
}
