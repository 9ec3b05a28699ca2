package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// A timedLedger is the ledger of a run with the clocks by which promises and leases end.
type timedLedger struct {
	truth   Truth
	ledger  *ledger.Ledger
	did     ledger.Change // by the last record
	records int           // entered so far
}

func newTimedLedger(t Truth) *timedLedger {
	return &timedLedger{truth: t, ledger: ledger.New(t.Members())}
}

// A cursor is the position of one checker in a ledger that it may share with others. All cursors of a ledger see the same records in the
// same order; the first that sees one enters it.
type cursor struct {
	*timedLedger
	read int
}

// follow returns what a record did.
func (f *cursor) follow(r *sim.Record) *ledger.Change {
	f.read++
	if f.read > f.records {
		f.enter(r)
	}
	return &f.did
}

func (b *timedLedger) enter(r *sim.Record) {
	b.records++
	b.did = b.ledger.Take(r)
	switch r.Ev {
	case protocol.EvPromise, protocol.EvGrant, sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		b.ledger.Forget(r.Node, func(p *ledger.Promise) bool { return b.ends(p) < b.truth.Now() })
	}
}

// ends returns when a promise ends if it is not renewed.
func (b *timedLedger) ends(p *ledger.Promise) sim.Real {
	return b.truth.Clock(p.Voter.Rank).Reach(p.Stated, p.Until)
}

// end returns when a lease ends if it is not renewed, by the clock that its holder has at t.
func (b *timedLedger) end(x *ledger.Leadership, t sim.Real) sim.Real {
	return b.truth.Clock(x.Holder.Rank).Reach(t, x.Until)
}

// leads reports whether a lease is in force at t, which is not before the last record.
func (b *timedLedger) leads(x *ledger.Leadership, t sim.Real) bool {
	return b.truth.Clock(x.Holder.Rank).At(t) < x.Until
}

// leases calls f for all leases in the domain Quorum until it returns an error.
func (b *timedLedger) leases(f func(*ledger.Leadership) error) error {
	for r := range protocol.Rank(b.truth.Members()) {
		list := b.ledger.Leases(r)
		for i := range list {
			if list[i].Domain != protocol.Quorum {
				continue
			}
			if err := f(&list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// backers returns the voters that have the group assigned to the holder in a promise that ends at t or later.
func (b *timedLedger) backers(d protocol.Domain, g protocol.Group, to protocol.Ident, t sim.Real) protocol.Set {
	return b.ledger.Backers(d, g, to, func(p *ledger.Promise) bool { return b.ends(p) >= t })
}
