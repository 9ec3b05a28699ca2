package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Outside is R-OUT: once programs are told of a view, no program of a member that is not of it goes on. A program goes on until it is
// told that its member is dead, or until its leave is over by its member's clock, whichever is first.
type Outside struct {
	agreements
	book *book
	last agreement // the latest that anybody was told of
}

// NewOutside returns the checker of one group.
func NewOutside(t Truth, g protocol.Group) *Outside {
	return &Outside{agreements: newAgreements(t, g), book: newBook(t)}
}

// Name returns R-OUT.
func (o *Outside) Name() string { return "R-OUT" }

// Observe judges all members at each report, and each by itself when it goes on for longer.
func (o *Outside) Observe(r *sim.Record) error {
	o.book.enter(r)
	if r.Ev == protocol.EvHorizon && r.Dom == protocol.Consistent && r.Group == o.group {
		return o.judge(r.Node, r.T)
	}
	if !o.follow(r) {
		return nil
	}
	if now := o.now[r.Node]; now.number.Compare(o.last.number) > 0 {
		o.last = now
		for q := range protocol.Rank(len(o.now)) {
			if err := o.judge(q, r.T); err != nil {
				return err
			}
		}
	}
	return o.judge(r.Node, r.T)
}

func (o *Outside) judge(q protocol.Rank, t sim.Real) error {
	a := &o.now[q]
	if a.number.Vid == 0 || o.last.members.Has(q) {
		return nil
	}
	end, _ := o.book.ledger.End(q, protocol.Consistent, o.group, a.horizon)
	if clock := o.book.truth.Clock(q).At(t); clock < end {
		return Violatedf(o.Name(), t, "%v goes on in view %v of %v until %v; its clock shows %v, and programs were told of view %v of %v",
			q, a.number, a.members, end, clock, o.last.number, o.last.members)
	}
	return nil
}

// Finish has nothing to add.
func (o *Outside) Finish() error { return nil }
