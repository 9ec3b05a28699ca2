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
	mine := s.leased(r)
	if mine == nil {
		return nil
	}
	for q := range protocol.Rank(s.n) {
		other := s.leading(q, r.T)
		if q == r.Node || other == nil {
			continue
		}
		if both := other.Support.Intersect(mine.Support); !both.Empty() {
			return Violatedf(c.Name(), r.T, "%v leads %v, and %v leads %v: %v supports both", q, other.Support, r.Node, mine.Support, both)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *SupportOne) Finish() error { return nil }
