package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Slack is CH1: of the two ends of a link none is ever more than two transitions ahead.
type Slack struct{ histories histories }

// NewSlack returns a checker of CH1.
func NewSlack() *Slack { return &Slack{histories{}} }

// Name returns CH1.
func (c *Slack) Name() string { return "CH1" }

// Observe compares both ends at every transition.
func (c *Slack) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	mine, other := c.histories.ends(r)
	*mine = r.Seq
	if *mine > *other+2 || *other > *mine+2 {
		return Violatedf(c.Name(), r.T, "%v has made %d transitions of its link to %v, which has made %d", r.Node, *mine, r.Peer, *other)
	}
	return nil
}

// Finish has nothing to add.
func (c *Slack) Finish() error { return nil }
