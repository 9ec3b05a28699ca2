package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Stability is N-STAB: once its links are good, a lease that a member of the healed core gains does not lapse. It ends
// when its holder steps down, or because its program did not stop when it was asked to.
//
// Leases from before may lapse: the last request before the links healed may have been lost. So may those of a short
// while after, which may still rest on the promises of voters that are dead by now.
type Stability struct {
	follower
	grace time.Duration
	core  protocol.Set
	good  sim.Real
}

// newStability returns the checker. After the grace no promise is left that was made before the liveness phase began.
func newStability(b *book, grace time.Duration) *Stability {
	return &Stability{follower: follower{book: b}, grace: grace, good: sim.Forever}
}

// Name returns N-STAB.
func (s *Stability) Name() string { return "N-STAB" }

// Observe looks at every end of a lease.
func (s *Stability) Observe(r *sim.Record) error {
	did := s.follow(r)
	if r.Ev == sim.EvPhase {
		s.core, s.good = r.Members, sim.Forever
		if r.Why == sim.Liveness {
			s.good = r.T.Add(s.grace)
		}
	}
	if r.Ev == protocol.EvStepdown && r.Dom == protocol.Quorum && len(did.Ended) > 0 {
		return s.judge(&did.Ended[0], r.T)
	}
	return nil
}

func (s *Stability) judge(x *ledger.Lease, t sim.Real) error {
	if x.Since < s.good || !s.core.Has(x.Holder.Rank) || x.Frozen || s.leads(x, t) {
		return nil
	}
	return Violatedf(s.Name(), t, "the lease of %v in %q (tenure %d), gained at %v when all was well, lapsed at %v",
		x.Holder, x.Group, x.Tenure, x.Since, s.end(x, t))
}

// Finish looks at the leases that nobody has ended.
func (s *Stability) Finish() error {
	return s.leases(func(x *ledger.Lease) error { return s.judge(x, s.truth.Now()) })
}
