package stable

import (
	"math/rand/v2"

	"github.com/regentproject/regent/internal/protocol"
)

// Corrupt puts the machine into a state to which no run leads.
func (m *Machine) Corrupt(r *rand.Rand) protocol.Fact {
	m.round, m.term = protocol.ArbitraryNumber(r), protocol.ArbitraryNumber(r)
	for _, at := range []*protocol.Time{&m.nextOK, &m.deadline, &m.since, &m.probe.end, &m.elected} {
		*at = protocol.ArbitraryTime(r)
	}
	m.oks = oks{inc: protocol.Inc(r.IntN(3)), lo: protocol.ArbitraryNumber(r), hi: protocol.ArbitraryNumber(r)}
	m.probe.seq, m.seq, m.tries = r.Uint64()/2, protocol.ArbitraryNumber(r)/4, r.IntN(100)
	m.leader = protocol.Ident{Rank: protocol.Rank(r.IntN(m.config.Members)), Inc: 1}
	for range r.IntN(8) {
		m.alerts.add(protocol.ArbitraryNumber(r), protocol.ArbitraryTime(r))
	}
	for i := range m.alerts.all[:m.alerts.n] {
		m.alerts.all[i].at = protocol.ArbitraryTime(r)
	}
	return protocol.Fact{Ev: protocol.EvWeak, Peer: m.leader, Term: m.term}
}
