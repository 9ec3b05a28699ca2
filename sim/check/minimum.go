package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Minimum is H-MIN: once a set of members has been a Δ-partition for κ its best-ranked member leads it, alone, and goes on
// to as long as the partition lasts.
type Minimum struct{ scene *scene }

// Name returns H-MIN.
func (c *Minimum) Name() string { return "H-MIN" }

// Observe looks at every Δ-partition every few milliseconds, and when somebody steps down.
func (c *Minimum) Observe(r *sim.Record) error {
	if c.scene.fresh || r.Ev == protocol.EvStepdown {
		return c.judge(r.T)
	}
	return nil
}

func (c *Minimum) judge(t sim.Real) error {
	s := c.scene
	since := t.Add(-s.spec.Kappa)
	if since < 0 {
		return nil
	}
	var seen protocol.Set
	for p := range protocol.Rank(s.n) {
		if seen.Has(p) {
			continue
		}
		sp := s.partition(p, since)
		if sp.Empty() || sp.Len() < s.spec.Supporters {
			continue
		}
		seen = seen.Union(sp)
		for q := range sp.All() {
			if leads := s.leading(q, t) != nil; leads != (q == sp.Min()) {
				return Violatedf(c.Name(), t, "%v has been a partition of its own for %v: %v leads: %v", sp, s.spec.Kappa, q, leads)
			}
		}
	}
	return nil
}

// Finish looks at the end.
func (c *Minimum) Finish() error { return c.judge(c.scene.truth.Now()) }
