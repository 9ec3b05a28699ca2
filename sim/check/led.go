package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Led is H-T: a set of members that has been a Δ-partition for κ has had a leader within that time.
type Led struct {
	scene  *scene
	judged int
}

// Name returns H-T.
func (c *Led) Name() string { return "H-T" }

// Observe looks at every Δ-partition every few milliseconds.
func (c *Led) Observe(r *sim.Record) error {
	if c.scene.fresh {
		return c.judge(r.T)
	}
	return nil
}

func (c *Led) judge(t sim.Real) error {
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
		c.judged++
		led := false
		for q := range sp.All() {
			led = led || s.led(q, since, t)
		}
		if !led {
			return Violatedf(c.Name(), t, "%v has been a partition of its own for %v, and nobody in it has led", sp, s.spec.Kappa)
		}
	}
	return nil
}

// Judged returns how often a partition was looked at.
func (c *Led) Judged() int { return c.judged }

// Finish looks at the end.
func (c *Led) Finish() error { return c.judge(c.scene.truth.Now()) }
