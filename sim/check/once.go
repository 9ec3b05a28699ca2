package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

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
