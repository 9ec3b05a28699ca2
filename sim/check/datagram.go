package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
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

// Once is FA3: nothing that was sent once is delivered twice to one incarnation, however often it arrives.
type Once struct {
	seen map[arrival]bool
}

type arrival struct {
	to protocol.Ident
	id uint64
}

// NewOnce returns a checker of FA3.
func NewOnce() *Once { return &Once{seen: make(map[arrival]bool)} }

// Name returns FA3.
func (o *Once) Name() string { return "FA3" }

// Observe looks at what is delivered.
func (o *Once) Observe(r *sim.Record) error {
	if r.Ev != sim.EvDeliver {
		return nil
	}
	a := arrival{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Seq}
	if o.seen[a] {
		return Violatedf(o.Name(), r.T, "%s %d from %v was delivered to %v twice", r.Why, r.Seq, r.Peer, a.to)
	}
	o.seen[a] = true
	return nil
}

// Finish has nothing to add.
func (o *Once) Finish() error { return nil }

// Present is FA4: nothing is delivered to a later incarnation than was up when it was sent, nor from an earlier one than has been
// delivered from before. A member that does not know its incarnation is exempt.
type Present struct {
	meant map[uint64]protocol.Inc        // by number of the datagram: the receiver's incarnation when it was sent
	heard map[[2]protocol.Rank]heardFrom // by receiver and sender
}

type heardFrom struct {
	by, highest protocol.Inc
}

// NewPresent returns a checker of FA4.
func NewPresent() *Present {
	return &Present{meant: make(map[uint64]protocol.Inc), heard: make(map[[2]protocol.Rank]heardFrom)}
}

// Name returns FA4.
func (p *Present) Name() string { return "FA4" }

// Observe follows what is sent and looks at what is delivered.
func (p *Present) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvSend:
		p.meant[r.Seq] = r.Peer.Inc
	case sim.EvDeliver:
		if r.Inc == 0 || r.Peer.Inc == 0 || r.Node == r.Peer.Rank {
			return nil
		}
		if meant, ok := p.meant[r.Seq]; ok && meant != r.Inc {
			return Violatedf(p.Name(), r.T, "%s %d from %v was sent when %v was up, and delivered to incarnation %d", r.Why, r.Seq, r.Peer,
				protocol.Ident{Rank: r.Node, Inc: meant}, r.Inc)
		}
		h := p.heard[[2]protocol.Rank{r.Node, r.Peer.Rank}]
		if h.by == r.Inc && r.Peer.Inc < h.highest {
			return Violatedf(p.Name(), r.T, "%s %d from %v was delivered to %v, which had heard incarnation %d", r.Why, r.Seq, r.Peer, r.Node,
				h.highest)
		}
		p.heard[[2]protocol.Rank{r.Node, r.Peer.Rank}] = heardFrom{r.Inc, r.Peer.Inc}
	}
	return nil
}

// Finish has nothing to add.
func (p *Present) Finish() error { return nil }
