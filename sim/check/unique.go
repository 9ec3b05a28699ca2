package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Unique is N-LU: at every instant, at most one incarnation of one member has a lease of a group whose end its clock has
// not reached, and at most one is backed by a quorum of promises, those of crashed voters included.
//
// Looking at records is enough to know about every instant. A lease comes into force, or back into force, only where a
// fact says so; the clocks' maps say exactly who else's is in force then; and a clock that has passed an end does not
// come back. The same holds for promises.
type Unique struct {
	follower
	quorums protocol.Quorums
	holders []protocol.Ident
}

func newUnique(b *book, q protocol.Quorums) *Unique {
	return &Unique{follower: follower{book: b}, quorums: q}
}

// Name returns N-LU.
func (u *Unique) Name() string { return "N-LU" }

// Observe looks at every beginning and every extension.
func (u *Unique) Observe(r *sim.Record) error {
	did := u.follow(r)
	if r.Dom != protocol.Quorum {
		return nil
	}
	for _, x := range did.Moved {
		if err := u.alone(x, r.T); err != nil {
			return err
		}
	}
	if did.Promise == nil || r.Ev != protocol.EvAssign && r.Ev != protocol.EvPromise {
		return nil
	}
	for _, a := range did.Promise.Assigned {
		if err := u.oneQuorum(a.Group, r.T); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unique) alone(x *ledger.Lease, t sim.Real) error {
	if !u.leads(x, t) {
		return nil
	}
	return u.leases(func(y *ledger.Lease) error {
		if y.Group != x.Group || y.Holder == x.Holder || !u.leads(y, t) {
			return nil
		}
		return Violatedf(u.Name(), t, "%v leads %q (tenure %d, token %d) until %v, and so does %v (tenure %d, token %d) until %v",
			y.Holder, y.Group, y.Tenure, y.Token, u.end(y, t), x.Holder, x.Tenure, x.Token, u.end(x, t))
	})
}

// oneQuorum counts the holders of a group that a quorum backs beyond t.
func (u *Unique) oneQuorum(group protocol.Group, t sim.Real) error {
	first := protocol.NoIdent
	u.holders = u.ledger.Holders(u.holders[:0], protocol.Quorum, group)
	for _, p := range u.holders {
		set := u.backers(protocol.Quorum, group, p, t+1)
		if !u.quorums.In(set) {
			continue
		}
		if first != protocol.NoIdent {
			return Violatedf(u.Name(), t, "%v back %v in %q, and %v back %v", u.backers(protocol.Quorum, group, first, t+1), first, group, set, p)
		}
		first = p
	}
	return nil
}

// Finish has nothing to add.
func (u *Unique) Finish() error { return nil }
