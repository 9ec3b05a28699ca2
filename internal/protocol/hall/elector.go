package hall

import (
	"github.com/regentproject/regent/internal/protocol"
)

// An Elector is a member that takes part from its start on, leads no program, and says who leads the part that it is in: an
// elector for an authority above (PROTOCOLS §8). Each part has its own opinion, and a member that is between two leaders
// trusts nobody. That is all it says: its leases and locks bind nobody beyond this package, and are not published.
//
// After Unfit it is silent for twice κ, so that the others choose somebody else. Then it comes back, and if it is the
// best-ranked one it is trusted again.
type Elector struct {
	machine *Machine
	// next is what the machine hears in the place of the next Tick. It takes at most one Step in each of this one, because
	// it uses its messages again.
	next   protocol.Event
	leader protocol.Ident
}

// NewElector returns the elector of a member that is about to start.
func NewElector(c Config) (*Elector, error) {
	m, err := New(c)
	return &Elector{machine: m, leader: protocol.NoIdent}, err
}

// Step implements protocol.Machine.
func (e *Elector) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m := e.machine
	switch ev.(type) {
	case protocol.Start:
		e.next = protocol.Campaign{Group: m.cfg.Group}
	case protocol.Tick:
		if e.next != nil {
			ev, e.next = e.next, nil
		}
	case protocol.Unfit:
		if e.leader.Rank != m.cfg.Self {
			ev = protocol.Tick{} // it is trusted no more
		}
	}
	views, horizons, facts := len(out.Views), len(out.Horizons), len(out.Facts)
	m.Step(now, ev, out)
	said := out.Views[views:]
	out.Views, out.Horizons, out.Facts = out.Views[:views], out.Horizons[:horizons], out.Facts[:facts]
	for i := range said {
		e.hear(said[i], out)
	}
	if e.next != nil {
		out.Wake = now
	}
}

// hear puts what an elector says in the place of a view of the machine. There is no program that would have to stop: it
// has, as soon as it is asked to.
func (e *Elector) hear(v protocol.View, out *protocol.Effects) {
	if v.Stop {
		e.next = protocol.Stopped{Group: v.Group}
		return
	}
	e.leader = v.Leader
	out.Views = append(out.Views, protocol.View{Group: v.Group, Leader: v.Leader, Until: protocol.Never, Support: v.Support, Cause: v.Cause})
	out.Facts = append(out.Facts, protocol.Fact{Ev: protocol.EvWeak, Group: v.Group, Peer: v.Leader})
}
