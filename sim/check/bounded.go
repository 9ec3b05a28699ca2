package check

import (
	"time"

	"github.com/regentproject/regent/sim"
)

// Bounded is FA1: the bound on the delay of a message is never below its true delay, counted from the Step that sent it to
// the one that receives it. It needs a world that records messages, with clocks within ρ that do not stand still.
type Bounded struct{}

// sameInstant is what a bound may lack: at one instant of real time a clock gives out samples a nanosecond apart, so the
// stamp of a Step may be a little ahead of its clock.
const sameInstant = time.Microsecond

// NewBounded returns a checker of FA1.
func NewBounded() *Bounded { return &Bounded{} }

// Name returns FA1.
func (b *Bounded) Name() string { return "FA1" }

// Observe looks at what is delivered.
func (b *Bounded) Observe(r *sim.Record) error {
	if r.Ev != sim.EvDeliver || r.Node == r.Peer.Rank {
		return nil
	}
	d := r.Detail.(sim.Delivery)
	if took := r.T.Sub(d.Sent); d.Bound >= 0 && took > time.Duration(d.Bound)+sameInstant {
		return Violatedf(b.Name(), r.T, "%s from %v to %v took %v, and is said to have taken at most %v", r.Why, r.Peer, r.Node,
			took, time.Duration(d.Bound))
	}
	return nil
}

// Finish has nothing to add.
func (b *Bounded) Finish() error { return nil }
