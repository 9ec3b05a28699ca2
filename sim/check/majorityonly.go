package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// MajorityOnly is H-MAJ: where a majority must support a leader there is at most one, and a majority does.
type MajorityOnly struct{ scene *scene }

// Name returns H-MAJ.
func (c *MajorityOnly) Name() string { return "H-MAJ" }

// Observe looks at every lease.
func (c *MajorityOnly) Observe(r *sim.Record) error {
	s := c.scene
	lease := s.leased(r)
	switch {
	case lease == nil:
		return nil
	case lease.Support.Len() < s.spec.Supporters:
		return Violatedf(c.Name(), r.T, "%v leads %v, which are fewer than %d", r.Node, lease.Support, s.spec.Supporters)
	}
	for q := range protocol.Rank(s.n) {
		if q != r.Node && s.leading(q, r.T) != nil {
			return Violatedf(c.Name(), r.T, "%v leads, and so does %v", r.Node, q)
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *MajorityOnly) Finish() error { return nil }
