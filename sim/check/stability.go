package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Stability is N-STAB: once its links are good, a lease that a member of the healed core gains does not lapse. It ends
// when its holder steps down, or because its program did not stop when it was asked to.
//
// Leases from before may lapse: the last request before the links healed may have been lost. So may those of a short
// while after, which may still rest on the promises of voters that are dead by now.
type Stability struct {
	leases leases
	grace  time.Duration
	core   protocol.Set
	good   sim.Real
}

// NewStability returns the checker. After the grace no promise is left that was made before the liveness phase began.
func NewStability(t Truth, grace time.Duration) *Stability {
	return &Stability{leases: newLeases(t), grace: grace, good: sim.Forever}
}

// Name returns N-STAB.
func (s *Stability) Name() string { return "N-STAB" }

// Observe looks at every end of a lease.
func (s *Stability) Observe(r *sim.Record) error {
	did := s.leases.follow(r)
	if r.Ev == sim.EvPhase {
		s.core, s.good = r.Members, sim.Forever
		if r.Why == sim.Liveness {
			s.good = r.T.Add(s.grace)
		}
	}
	if x := did.ended; x != nil {
		return s.judge(x, r.T)
	}
	return nil
}

func (s *Stability) judge(x *tenure, t sim.Real) error {
	if x.since < s.good || !s.core.Has(x.holder.Rank) || x.frozen || s.leases.leads(x, t) {
		return nil
	}
	return Violatedf(s.Name(), t, "the lease of %v in %q (tenure %d), gained at %v when all was well, lapsed at %v",
		x.holder, x.group, x.number, x.since, s.leases.end(x, t))
}

// Finish looks at the leases that nobody has ended.
func (s *Stability) Finish() error {
	t := s.leases.truth.Now()
	for _, all := range s.leases.of {
		for _, x := range all {
			if err := s.judge(x, t); err != nil {
				return err
			}
		}
	}
	return nil
}
