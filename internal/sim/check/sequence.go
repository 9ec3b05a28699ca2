package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
)

// Sequence is CH2: what an end goes through is a prefix of one sequence, up, down, up and so on, numbered from 1 without a gap, and
// the incarnations of a peer come one after another.
type Sequence struct {
	histories histories
	latest    map[reader]protocol.Inc
}

// A reader is a member as it knows another.
type reader struct {
	self protocol.Ident
	peer protocol.Rank
}

// NewSequence returns a checker of CH2.
func NewSequence() *Sequence {
	return &Sequence{histories: histories{}, latest: map[reader]protocol.Inc{}}
}

// Name returns CH2.
func (c *Sequence) Name() string { return "CH2" }

// Observe looks at every transition.
func (c *Sequence) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	mine, _ := c.histories.ends(r)
	if r.Seq != *mine+1 {
		return Violatedf(c.Name(), r.T, "%v makes transition %d of its link to %v after %d", r.Node, r.Seq, r.Peer, *mine)
	}
	*mine = r.Seq
	switch r.Why {
	case "tin":
		if !up(r.Seq) {
			return Violatedf(c.Name(), r.T, "%v is back in contact with %v, and takes the link down", r.Node, r.Peer)
		}
	case "tout", "restarted":
		if up(r.Seq) {
			return Violatedf(c.Name(), r.T, "%v is out of contact with %v, and takes the link up", r.Node, r.Peer)
		}
	}
	who := reader{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Peer.Rank}
	if r.Peer.Inc < c.latest[who] {
		return Violatedf(c.Name(), r.T, "the link of %v to %v changes after one to incarnation %d", r.Node, r.Peer, c.latest[who])
	}
	c.latest[who] = r.Peer.Inc
	return nil
}

// Finish has nothing to add.
func (c *Sequence) Finish() error { return nil }
