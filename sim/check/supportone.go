package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// SupportOne is H-SO: no member supports two leaders at one instant, so logical partitions are disjoint.
//
// Support sets change only where a lease fact says so; between two facts leases can only end. So to look at those facts is
// to look at every instant.
type SupportOne struct{ scene *scene }

// Name returns H-SO.
func (c *SupportOne) Name() string { return "H-SO" }

// Observe compares a lease with all others in force.
func (c *SupportOne) Observe(r *sim.Record) error {
	s := c.scene
	if r.Ev != protocol.EvLease || r.Dom != protocol.Local || !s.leading(r.Node, r.T) {
		return nil
	}
	for q := range protocol.Rank(s.n) {
		if q == r.Node || !s.leading(q, r.T) {
			continue
		}
		if both := s.leads[q].support.Intersect(s.leads[r.Node].support); !both.Empty() {
			return Violatedf(c.Name(), r.T, "%v leads %v, and %v leads %v: %v supports both", q, s.leads[q].support, r.Node,
				s.leads[r.Node].support, both)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *SupportOne) Finish() error { return nil }
