package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
)

// Elected is N-EE: once a quorum is well, no group that its members want to lead stays without a lease for longer than
// the bound.
type Elected struct {
	leases leases
	groups []protocol.Group
	free   []sim.Real // since when each group has had no lease; Forever while it has one
	bound  time.Duration
	good   sim.Real
}

// NewElected returns the checker for groups that every member wants to lead at all times. The bound counts from the
// beginning of the liveness phase, or from the end of the last lease.
func NewElected(t Truth, bound time.Duration, groups []protocol.Group) *Elected {
	return &Elected{leases: newLeases(t), groups: groups, free: make([]sim.Real, len(groups)), bound: bound, good: sim.Forever}
}

// Name returns N-EE.
func (e *Elected) Name() string { return "N-EE" }

// Observe watches the gaps between leases.
func (e *Elected) Observe(r *sim.Record) error {
	err := e.late(r.T)
	did := e.leases.follow(r)
	if r.Ev == sim.EvPhase {
		e.good = sim.Forever
		if r.Why == sim.Liveness {
			e.good = r.T
		}
	}
	if did.begun != nil || did.ended != nil || len(did.gone) > 0 || r.Ev == sim.EvPhase {
		e.look(r.T)
	}
	return err
}

// look notes which groups have a lease.
func (e *Elected) look(t sim.Real) {
	for i, g := range e.groups {
		led := false
		e.leases.leaders(g, t, func(*tenure) { led = true })
		switch {
		case led:
			e.free[i] = sim.Forever
		case e.free[i] == sim.Forever:
			e.free[i] = t
		}
	}
}

// late says which group has been without a lease for too long at t.
func (e *Elected) late(t sim.Real) error {
	if e.good == sim.Forever {
		return nil
	}
	for i, g := range e.groups {
		if e.free[i] == sim.Forever {
			continue
		}
		if since := max(e.free[i], e.good); t > since.Add(e.bound) {
			return Violatedf(e.Name(), t, "nobody has led %q since %v; all has been well since %v, and %v should do", g, e.free[i], e.good, e.bound)
		}
	}
	return nil
}

// Finish looks at the last gap.
func (e *Elected) Finish() error {
	e.look(e.leases.truth.Now())
	return e.late(e.leases.truth.Now())
}
