package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Inconsistency is H-BI: who has been connected to a leader for κ supports it.
type Inconsistency struct{ scene *scene }

// Name returns H-BI.
func (c *Inconsistency) Name() string { return "H-BI" }

// Observe looks at every leader every few milliseconds, and at each lease.
func (c *Inconsistency) Observe(r *sim.Record) error {
	s := c.scene
	if !s.fresh && (r.Ev != protocol.EvLease || r.Dom != protocol.Local) {
		return nil
	}
	since := r.T.Add(-s.spec.Kappa)
	for p := range protocol.Rank(s.n) {
		lease := s.leading(p, r.T)
		if since < 0 || lease == nil {
			continue
		}
		for q := range protocol.Rank(s.n) {
			if s.spec.Touch > 0 && s.touch[s.way(p, q)] > since {
				continue
			}
			if q != p && s.connected(p, q, since) && !lease.Support.Has(q) {
				return Violatedf(c.Name(), r.T, "%v leads %v, and has been connected to %v for %v", p, lease.Support, q, s.spec.Kappa)
			}
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *Inconsistency) Finish() error { return nil }
