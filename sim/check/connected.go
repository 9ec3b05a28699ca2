package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Connected is CH-UP: in the end all links of the healed core are up, in the same session at both ends, no others are, and that stays so.
type Connected struct {
	truth     Truth
	histories histories
	end       end
}

// NewConnected returns a checker that gives the core the settle time.
func NewConnected(t Truth, settle time.Duration) *Connected {
	return &Connected{truth: t, histories: histories{}, end: newEnd(settle)}
}

// Name returns CH-UP.
func (c *Connected) Name() string { return "CH-UP" }

// Observe looks at all links when the end begins, and refuses every change after that.
func (c *Connected) Observe(r *sim.Record) error {
	if c.end.reached(r) {
		if err := c.look(r.T); err != nil {
			return err
		}
	}
	if r.Ev == sim.EvRestart {
		c.histories.restart(r.Node)
	}
	if r.Ev != protocol.EvLink {
		return nil
	}
	if c.end.within(r.T) && c.end.core.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v makes transition %d of its link to %v (%s), long after its core was healed", r.Node, r.Seq, r.Peer, r.Why)
	}
	mine, _ := c.histories.ends(r)
	*mine = r.Seq
	return nil
}

// look compares the links of the core with what is true.
func (c *Connected) look(t sim.Real) error {
	for a := range c.end.core.All() {
		for b := range protocol.Rank(c.truth.Members()) {
			if a == b {
				continue
			}
			link := sim.Record{Node: a, Inc: c.truth.Ident(a).Inc}
			link.Peer = c.truth.Ident(b)
			mine, other := c.histories.ends(&link)
			switch inside := c.end.core.Has(b) && link.Inc != 0 && link.Peer.Inc != 0; { // who does not know its incarnation has no links
			case inside && (!up(*mine) || *mine != *other):
				return Violatedf(c.Name(), t, "%v is at %d of its link to %v, which is at %d", a, *mine, link.Peer, *other)
			case !inside && up(*mine):
				return Violatedf(c.Name(), t, "the link of %v to %v is up, which is down", a, link.Peer)
			}
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (c *Connected) Finish() error {
	if c.end.over(c.truth.Now()) {
		return c.look(c.truth.Now())
	}
	return nil
}
