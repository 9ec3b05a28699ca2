package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// OneCouncil is CI1: at no time do two members have different ids of their council, on disk or on the way there. A member that starts
// says which id it found; what it had before, and lost, no longer counts.
type OneCouncil struct {
	ids map[protocol.Rank]uint64
}

// NewOneCouncil returns a checker of CI1.
func NewOneCouncil() *OneCouncil { return &OneCouncil{ids: make(map[protocol.Rank]uint64)} }

// Name returns CI1.
func (*OneCouncil) Name() string { return "CI1" }

// Observe looks at starts and at ids.
func (c *OneCouncil) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		delete(c.ids, r.Node)
	case protocol.EvCouncil:
		c.ids[r.Node] = r.Seq
		for other := range protocol.Rank(protocol.MaxMembers) { // in order, so that a run tells the same each time
			if id, ok := c.ids[other]; ok && id != r.Seq {
				return Violatedf(c.Name(), r.T, "%v has the council id %x (%s), and %v has %x", r.Node, r.Seq, r.Why, other, id)
			}
		}
	}
	return nil
}

// Finish has nothing to add.
func (*OneCouncil) Finish() error { return nil }

// Founded is CI2: if all members hear one another they have an id within the settle time.
type Founded struct {
	settle time.Duration
	core   protocol.Set
	all    int
	ids    protocol.Set
	until  sim.Real
	last   sim.Real
}

// NewFounded returns a checker of CI2 for a council of so many members.
func NewFounded(members int, settle time.Duration) *Founded {
	return &Founded{settle: settle, all: members, until: sim.Forever}
}

// Name returns CI2.
func (*Founded) Name() string { return "CI2" }

// Observe notes who has an id.
func (f *Founded) Observe(r *sim.Record) error {
	f.last = r.T
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		f.ids.Remove(r.Node)
	case protocol.EvCouncil:
		f.ids.Add(r.Node)
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			f.core, f.until = r.Members, r.T.Add(f.settle)
		}
	}
	return nil
}

// Finish looks at who has none.
func (f *Founded) Finish() error {
	if f.core.Len() < f.all || f.last < f.until || f.ids.Contains(f.core) {
		return nil
	}
	return Violatedf(f.Name(), f.last, "%v have no council id", f.core.Minus(f.ids))
}
