package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Severed is CH3: an end takes its link down within tout of the last message that it heard from the other end, and within tout + tin
// of the last that the other end heard, by its own clock. That is more than to be down in the end, and holds at both ends whichever
// direction broke.
//
// An end whose process stood still is given the time of a late timer after that.
type Severed struct {
	truth     Truth
	tout, tin time.Duration
	late      time.Duration
	n         int
	up        []bool     // by end and peer
	heard     []sim.Real // by sender and receiver: when the last message arrived
	disturbed []sim.Real // when a process last went on after standing still, or its clock jumped
	looked    sim.Real
	inc       []protocol.Inc // as which each member speaks
}

// NewSevered returns a checker of CH3.
func NewSevered(t Truth, tout, tin, late time.Duration) *Severed {
	n := t.Members()
	return &Severed{truth: t, tout: tout, tin: tin, late: late, n: n, up: make([]bool, n*n), heard: make([]sim.Real, n*n), disturbed: make([]sim.Real, n),
		inc: make([]protocol.Inc, n)}
}

// Name returns CH3.
func (c *Severed) Name() string { return "CH3" }

// Observe follows who heard whom, and looks at all ends from time to time.
func (c *Severed) Observe(r *sim.Record) error {
	if r.T >= c.looked.Add(c.late) {
		c.looked = r.T
		if err := c.look(r.T); err != nil {
			return err
		}
	}
	switch r.Ev {
	case sim.EvDeliver:
		c.heard[way(c.n, r.Peer.Rank, r.Node)] = r.T
	case protocol.EvSpeak, protocol.EvWait, protocol.EvNode:
		c.renew(r)
	case protocol.EvLink:
		c.renew(r)
		c.up[way(c.n, r.Node, r.Peer.Rank)] = up(r.Seq)
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		c.clear(r.Node)
	case sim.EvFault, sim.EvHeal:
		switch f := r.Detail.(sim.Fault); f.Kind {
		case sim.Pause, sim.Suspend, sim.Halt, sim.Jump:
			c.disturbed[f.A] = r.T
		}
	}
	return nil
}

// renew follows as whom a member speaks: one that finds out that it has spoken as another drops its links, and makes new ones.
func (c *Severed) renew(r *sim.Record) {
	if c.inc[r.Node] != r.Inc {
		c.inc[r.Node] = r.Inc
		c.clear(r.Node)
	}
}

func (c *Severed) clear(r protocol.Rank) { clear(c.up[way(c.n, r, 0):way(c.n, r+1, 0)]) }

// look looks at all ends that are up.
func (c *Severed) look(t sim.Real) error {
	judged := t.Add(-c.late)
	for i, up := range c.up {
		a, b := protocol.Rank(i/c.n), protocol.Rank(i%c.n)
		if !up || c.truth.Frozen(a) || c.disturbed[a] >= judged {
			continue
		}
		if silent := c.since(a, c.heard[way(c.n, b, a)], judged); silent >= c.tout {
			return Violatedf(c.Name(), t, "the link of %v to %v is up %v after %v last heard from it", a, b, silent, a)
		}
		if silent := c.since(a, c.heard[way(c.n, a, b)], judged); silent >= c.tout+c.tin {
			return Violatedf(c.Name(), t, "the link of %v to %v is up %v after %v was last heard by it", a, b, silent, a)
		}
	}
	return nil
}

// since returns how long it is from one instant to a later one, by the clock of a member.
func (c *Severed) since(r protocol.Rank, from, to sim.Real) time.Duration {
	if from >= to {
		return 0
	}
	clock := c.truth.Clock(r)
	return clock.At(to).Sub(clock.At(from))
}

// Finish looks once more.
func (c *Severed) Finish() error { return c.look(c.truth.Now()) }
