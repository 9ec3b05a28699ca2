package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Backed is N-14: as long as a lease is in force, a quorum of voters has the group assigned to its holder in promises
// that have not run out, crashed voters included.
//
// It is looked at wherever a lease is gained or extended, a promise or an assignment changes, or a clock does, and always
// for the whole rest of the lease, as the clocks run now: time alone cannot break it in between.
type Backed struct {
	follower
	quorums protocol.Quorums
}

func newBacked(b *book, q protocol.Quorums) *Backed { return &Backed{follower{book: b}, q} }

// Name returns N-14.
func (b *Backed) Name() string { return "N-14" }

// Observe looks at the leases that a record can have to do with.
func (b *Backed) Observe(r *sim.Record) error {
	did := b.follow(r)
	switch {
	case r.Ev == sim.EvFault || r.Ev == sim.EvHeal:
		return b.leases(func(x *ledger.Lease) error { return b.hold(x, r.T) })
	case r.Dom != protocol.Quorum:
		return nil
	case r.Ev == protocol.EvBreak && did.Before.Stood:
		// All its groups are over, and the break no longer says which.
		return b.leases(func(x *ledger.Lease) error {
			if x.Holder.Rank != did.Before.To.Rank {
				return nil
			}
			return b.hold(x, r.T)
		})
	case r.Ev == protocol.EvAssign || r.Ev == protocol.EvUnassign:
		return b.leases(func(x *ledger.Lease) error {
			if x.Group != r.Group {
				return nil
			}
			return b.hold(x, r.T)
		})
	}
	for _, x := range did.Moved {
		if err := b.hold(x, r.T); err != nil {
			return err
		}
	}
	return nil
}

// hold checks one lease from t to its end.
func (b *Backed) hold(x *ledger.Lease, t sim.Real) error {
	if !b.leads(x, t) {
		return nil
	}
	end := b.end(x, t)
	set := b.backers(protocol.Quorum, x.Group, x.Holder, end)
	if b.quorums.In(set) {
		return nil
	}
	return Violatedf(b.Name(), t, "%v leads %q (tenure %d) until %v, but only %v back it for so long, and %v now",
		x.Holder, x.Group, x.Tenure, end, set, b.backers(protocol.Quorum, x.Group, x.Holder, t+1))
}

// Finish has nothing to add.
func (b *Backed) Finish() error { return nil }
