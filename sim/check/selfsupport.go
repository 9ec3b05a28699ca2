package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// SelfSupport is H-LS: a local leader supports itself. It sees every record first, and keeps the scene of the others.
type SelfSupport struct{ scene *scene }

// Name returns H-LS.
func (c *SelfSupport) Name() string { return "H-LS" }

// Observe looks at every lease.
func (c *SelfSupport) Observe(r *sim.Record) error {
	c.scene.follow(r)
	if r.Ev != protocol.EvLease || r.Dom != protocol.Local {
		return nil
	}
	if !r.Members.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v leads %v, and is not among them", r.Node, r.Members)
	}
	return nil
}

// Finish has nothing to add.
func (c *SelfSupport) Finish() error { return nil }
