package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Unique is N-LU: at every instant, at most one incarnation of one member has a lease of a group whose end its clock has
// not reached, and at most one is backed by a quorum of promises, those of crashed voters included.
//
// Looking at records is enough to know about every instant. A lease comes into force, or back into force, only where a
// fact says so; the clocks' maps say exactly who else's is in force then; and a clock that has passed an end does not
// come back. The same holds for promises.
type Unique struct {
	leases  leases
	grants  grants
	quorums protocol.Quorums
}

// NewUnique returns the checker for a council with that quorum system.
func NewUnique(t Truth, q protocol.Quorums) *Unique {
	return &Unique{leases: newLeases(t), grants: newGrants(t), quorums: q}
}

// Name returns N-LU.
func (u *Unique) Name() string { return "N-LU" }

// Observe looks at every beginning and every extension.
func (u *Unique) Observe(r *sim.Record) error {
	for _, x := range u.leases.follow(r).moved {
		if err := u.alone(x, r.T); err != nil {
			return err
		}
	}
	g := u.grants.follow(r)
	if g == nil || r.Ev != protocol.EvAssign && r.Ev != protocol.EvPromise {
		return nil
	}
	for _, group := range g.groups {
		if err := u.oneQuorum(group, r.T); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unique) alone(x *tenure, t sim.Real) error {
	if !u.leases.leads(x, t) {
		return nil
	}
	var err error
	u.leases.leaders(x.group, t, func(y *tenure) {
		if y.holder != x.holder && err == nil {
			err = Violatedf(u.Name(), t, "%v leads %q (tenure %d, token %d) until %v, and so does %v (tenure %d, token %d) until %v",
				y.holder, y.group, y.number, y.token, u.leases.end(y, t), x.holder, x.number, x.token, u.leases.end(x, t))
		}
	})
	return err
}

// oneQuorum counts the holders of a group that a quorum backs beyond t.
func (u *Unique) oneQuorum(group protocol.Group, t sim.Real) error {
	first := protocol.NoIdent
	for _, p := range u.grants.holders(group) {
		set := u.grants.backers(group, p, t+1)
		if !u.quorums.In(set) {
			continue
		}
		if first != protocol.NoIdent {
			return Violatedf(u.Name(), t, "%v back %v in %q, and %v back %v", u.grants.backers(group, first, t+1), first, group, set, p)
		}
		first = p
	}
	return nil
}

// Finish has nothing to add.
func (u *Unique) Finish() error { return nil }
