package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Roles is N-ROLE: nobody tries to lead who may not, and nobody does while it knows that it is ill.
type Roles struct {
	leaders, ill protocol.Set
}

// NewRoles returns the checker for a council in which only some may lead; all may if leaders is empty.
func NewRoles(leaders protocol.Set) *Roles { return &Roles{leaders: leaders} }

// Name returns N-ROLE.
func (c *Roles) Name() string { return "N-ROLE" }

// Observe looks at attempts and at leases.
func (c *Roles) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvHealth:
		if c.ill.Remove(r.Node); r.Why == "ill" {
			c.ill.Add(r.Node)
		}
	case sim.EvCrash, sim.EvClose:
		c.ill.Remove(r.Node)
	case protocol.EvAttempt, protocol.EvLease:
		if !c.leaders.Empty() && !c.leaders.Has(r.Node) {
			return Violatedf(c.Name(), r.T, "%s of %v, who may not lead, in %q", r.Ev, r.Node, r.Group)
		}
		// A lease goes on until the program has stopped, and may move meanwhile.
		if r.Ev == protocol.EvAttempt && c.ill.Has(r.Node) {
			return Violatedf(c.Name(), r.T, "%v is ill, and tries to lead %q", r.Node, r.Group)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *Roles) Finish() error { return nil }
