package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

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
