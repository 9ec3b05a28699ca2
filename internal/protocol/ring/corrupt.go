package ring

import (
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Corrupt changes timers, leaders and suspicions. It keeps which members the machine has received Beats of, up to which number.
func (m *Machine) Corrupt(r *rand.Rand) protocol.Fact {
	someone := func() protocol.Ident {
		return protocol.Ident{Rank: protocol.Rank(r.IntN(m.config.Members)), Inc: protocol.Inc(r.IntN(3))}
	}
	m.leader, m.sent = someone(), someone()
	m.nextAt, m.check = protocol.ArbitraryTime(r), protocol.ArbitraryTime(r)
	for q := range m.peers {
		p := &m.peers[q]
		p.heard, p.regular = protocol.ArbitraryTime(r), protocol.ArbitraryTime(r)
		p.said, p.suspected = someone(), r.IntN(2) == 0
		for range r.IntN(20) {
			if p.rhythm != nil {
				p.rhythm.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
			}
		}
	}
	return protocol.Fact{Ev: protocol.EvWeak, Peer: m.leader}
}
