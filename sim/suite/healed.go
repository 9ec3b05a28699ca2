package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A Relink changes how the link from one member to another behaves when no fault is on it.
type Relink func(from, to protocol.Rank, l sim.Link) sim.Link

// Healed returns how links are while a core must converge: they lose nothing, and are timely unless the protocol assumes
// less.
func (p *Protocol) Healed(seed uint64, members int, core protocol.Set) Relink {
	assume := Relink(func(_, _ protocol.Rank, l sim.Link) sim.Link { return l })
	if p.Assume != nil {
		assume = p.Assume(seed, members, core)
	}
	return func(from, to protocol.Rank, l sim.Link) sim.Link {
		l.Loss, l.Duplicate, l.Delay.Tail = 0, 0, 0
		l.Delay.Max = min(l.Delay.Max, p.Timely)
		l.Delay.Min = min(l.Delay.Min, l.Delay.Max)
		return assume(from, to, l)
	}
}
