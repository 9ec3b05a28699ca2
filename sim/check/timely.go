package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Timely is FA2: when all datagrams have taken at most d for long enough, every message is proven to have taken at most
// Δ. In the liveness phase links are that good; the checker gives the core the settle time, which must exceed the age at which
// an echo is forgotten.
type Timely struct {
	delta, settle time.Duration
	core          protocol.Set
	since         sim.Real
	judged        int
}

// NewTimely returns a checker of FA2.
func NewTimely(delta, settle time.Duration) *Timely {
	return &Timely{delta: delta, settle: settle, since: sim.Forever}
}

// Name returns FA2.
func (f *Timely) Name() string { return "FA2" }

// Observe looks at what is delivered when all has been well for long enough.
func (f *Timely) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			f.core, f.since = r.Members, r.T.Add(f.settle)
		}
	case sim.EvDeliver:
		d := r.Detail.(sim.Delivery)
		if d.Sent < f.since || !f.core.Has(r.Node) || !f.core.Has(r.Peer.Rank) || r.Node == r.Peer.Rank {
			return nil
		}
		f.judged++
		if d.Bound < 0 {
			return Violatedf(f.Name(), r.T, "%s from %v to %v took %v, and nothing is proven of it", r.Why, r.Peer, r.Node, r.T.Sub(d.Sent))
		}
		if time.Duration(d.Bound) > f.delta {
			return Violatedf(f.Name(), r.T, "%s from %v to %v took %v, and is only proven to have taken at most %v, not %v", r.Why, r.Peer,
				r.Node, r.T.Sub(d.Sent), time.Duration(d.Bound), f.delta)
		}
	}
	return nil
}

// Judged returns how many messages were looked at.
func (f *Timely) Judged() int { return f.judged }

// Finish fails a run in which members could talk and nothing was heard.
func (f *Timely) Finish() error {
	if f.since != sim.Forever && f.core.Len() > 1 && f.judged == 0 {
		return Violatedf(f.Name(), f.since, "in a core of %v no message was delivered after it was healed", f.core)
	}
	return nil
}
