package check

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// EdictValid is N-EV: the clock sample of an edict lies in its maker's lease, and its stamp is that of the tenure.
type EdictValid struct{ follower }

// Name returns N-EV.
func (v *EdictValid) Name() string { return "N-EV" }

// Observe judges each edict by its maker's lease.
func (v *EdictValid) Observe(r *sim.Record) error {
	v.follow(r)
	if r.Ev != protocol.EvEdict || r.Dom != protocol.Quorum {
		return nil
	}
	e, ok := r.Detail.(stamp.Edict)
	if !ok {
		return Violatedf(v.Name(), r.T, "%v makes an edict without a stamp", r.Node)
	}
	x := v.ledger.Lease(r.Node, protocol.Quorum, r.Group)
	clock := v.truth.Clock(r.Node).At(r.T)
	switch {
	case x == nil:
		return Violatedf(v.Name(), r.T, "%v makes edict %v in %q and does not lead", r.Node, e, r.Group)
	case !v.leads(x, r.T) || r.At >= x.Until:
		return Violatedf(v.Name(), r.T, "%v makes edict %v in %q at %v of its clock: its lease ended at %v", r.Node, e, r.Group, r.At, x.Until)
	case protocol.Time(e.Counter) != r.At:
		return Violatedf(v.Name(), r.T, "%v makes edict %v at %v of its clock: the counter is not the sample", r.Node, e, r.At)
	case r.At < clock || r.At > clock+bumped:
		return Violatedf(v.Name(), r.T, "%v makes edict %v with the sample %v, but its clock shows %v", r.Node, e, r.At, clock)
	case e.Token != x.Token || !slices.Equal(e.Quorum, x.Quorum):
		return Violatedf(v.Name(), r.T, "%v makes edict %v in a tenure of token %d and quorum %v", r.Node, e, x.Token, x.Quorum)
	}
	if err := e.Check(); err != nil {
		return Violatedf(v.Name(), r.T, "%v makes edict %v: %v", r.Node, e, err)
	}
	return nil
}

// Finish has nothing to add.
func (v *EdictValid) Finish() error { return nil }
