package ring

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/phi"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/scramble"
)

// throw leaves the machine with other timers, leaders and suspicions. Who has been heard of, up to which number, stays.
func (m *Machine) throw(r *rand.Rand) protocol.Fact {
	someone := func() protocol.Ident {
		return protocol.Ident{Rank: protocol.Rank(r.IntN(m.config.Members)), Inc: protocol.Inc(r.IntN(3))}
	}
	m.leader, m.told = someone(), someone()
	m.nextAt, m.check = scramble.Instant(r), scramble.Instant(r)
	for q := range m.peers {
		p := &m.peers[q]
		p.heard, p.regular = scramble.Instant(r), scramble.Instant(r)
		p.said, p.suspected = someone(), r.IntN(2) == 0
		for range r.IntN(20) {
			if p.rhythm != nil {
				p.rhythm.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
			}
		}
	}
	return protocol.Fact{Ev: protocol.EvWeak, Peer: m.leader}
}

func TestMachinesConvergeFromAnyTimers(t *testing.T) {
	for seed := range uint64(300) {
		n, dead := scramble.Crowd(seed)
		err := scramble.Run(n, seed, dead, 5*time.Second, func(b sim.Boot) (protocol.Machine, scramble.Throw, error) {
			c := Default(b.Self, b.Members, b.Inc)
			c.Phi = phi.Threshold(8 * (seed / 36 % 2))
			m, err := New(c)
			return m, m.throw, err
		}, func(w *sim.World) []check.Checker { return []check.Checker{check.NewOmega(w, 5*time.Second)} })
		if err != nil {
			t.Fatalf("%d members, seed %d: %v", n, seed, err)
		}
	}
}
