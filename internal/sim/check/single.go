package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
)

// Single is CH4: what one end finds out makes at most one transition at each end. A transition that an end merely followed was made
// by the other before, under the same number; so each number has one that made it for a reason.
type Single struct{ histories histories }

// NewSingle returns a checker of CH4.
func NewSingle() *Single { return &Single{histories{}} }

// Name returns CH4.
func (c *Single) Name() string { return "CH4" }

// Observe looks at transitions that were followed.
func (c *Single) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	mine, other := c.histories.ends(r)
	*mine = r.Seq
	if r.Why == "followed" && *other < r.Seq {
		return Violatedf(c.Name(), r.T, "%v follows transition %d of its link to %v, which is at %d itself", r.Node, r.Seq, r.Peer, *other)
	}
	return nil
}

// Finish has nothing to add.
func (c *Single) Finish() error { return nil }
