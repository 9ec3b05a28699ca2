package detect

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/scramble"
)

// throw leaves the machine in a state that no run leads to.
func (m *Machine) throw(r *rand.Rand) protocol.Fact {
	m.round, m.term = scramble.Number(r), scramble.Number(r)
	m.leader = protocol.Ident{Rank: protocol.Rank(r.IntN(m.config.Members)), Inc: protocol.Inc(r.IntN(3))}
	m.trust = protocol.Everyone(m.config.Members + r.IntN(2)) // perhaps one that does not exist
	for odd, q := r.IntN(2) == 0, protocol.Rank(0); odd && int(q) < m.config.Members; q++ {
		if r.IntN(2) == 0 {
			m.trust.Remove(q)
		}
	}
	m.last, m.inc, m.seq = scramble.Number(r), protocol.Inc(r.IntN(3)), scramble.Number(r)/4
	m.nextOK, m.deadline, m.since = scramble.Instant(r), scramble.Instant(r), scramble.Instant(r)
	for q := range m.acks {
		m.acks[q] = scramble.Instant(r)
	}
	return protocol.Fact{Ev: protocol.EvWeak, Peer: m.leader, Term: m.term, Members: m.trust}
}

func TestMachinesConvergeFromAnyState(t *testing.T) {
	for seed := range uint64(600) {
		n, dead := scramble.Crowd(seed)
		err := scramble.Run(n, seed, dead, 5*time.Second, func(b sim.Boot) (protocol.Machine, scramble.Throw, error) {
			m, err := New(Default(b.Self, b.Members, b.Inc))
			return m, m.throw, err
		}, func(w *sim.World) []check.Checker {
			return []check.Checker{check.NewOmega(w, 5*time.Second), check.NewTrusted(w, 5*time.Second)}
		})
		if err != nil {
			t.Fatalf("%d members, seed %d: %v", n, seed, err)
		}
	}
}
