package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Backed is N-14: as long as a lease is in force, a quorum of voters has the group assigned to its holder in promises
// that have not run out, crashed voters included.
//
// It is looked at wherever a lease is gained or extended, a promise or an assignment changes, or a clock does, and always
// for the whole rest of the lease, as the clocks run now: time alone cannot break it in between.
type Backed struct {
	leases  leases
	grants  grants
	quorums protocol.Quorums
}

// NewBacked returns the checker for a council with that quorum system.
func NewBacked(t Truth, q protocol.Quorums) *Backed {
	return &Backed{leases: newLeases(t), grants: newGrants(t), quorums: q}
}

// Name returns N-14.
func (b *Backed) Name() string { return "N-14" }

// Observe looks at the leases that a record can have to do with.
func (b *Backed) Observe(r *sim.Record) error {
	s := b.leases.follow(r)
	g := b.grants.follow(r)
	for _, x := range s.moved {
		if err := b.hold(x, r.T); err != nil {
			return err
		}
	}
	switch {
	case r.Ev == sim.EvFault || r.Ev == sim.EvHeal:
		for _, all := range b.leases.of {
			for _, x := range all {
				if err := b.hold(x, r.T); err != nil {
					return err
				}
			}
		}
	case g != nil && r.Ev == protocol.EvBreak:
		// All its groups are over, and the break no longer says which.
		for _, x := range b.leases.of[g.to.Rank] {
			if err := b.hold(x, r.T); err != nil {
				return err
			}
		}
	case r.Ev == protocol.EvAssign || r.Ev == protocol.EvUnassign:
		for _, all := range b.leases.of {
			for _, x := range all {
				if x.group != r.Group {
					continue
				}
				if err := b.hold(x, r.T); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hold checks one lease from t to its end.
func (b *Backed) hold(x *tenure, t sim.Real) error {
	if !b.leases.leads(x, t) {
		return nil
	}
	end := b.leases.end(x, t)
	set := b.grants.backers(x.group, x.holder, end)
	if b.quorums.In(set) {
		return nil
	}
	return Violatedf(b.Name(), t, "%v leads %q (tenure %d) until %v, but only %v back it for so long, and %v now",
		x.holder, x.group, x.number, end, set, b.grants.backers(x.group, x.holder, t+1))
}

// Finish has nothing to add.
func (b *Backed) Finish() error { return nil }
