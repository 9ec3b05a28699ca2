package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Sequence is CH2: what an end goes through is a prefix of one sequence, up, down, up and so on, numbered from 1 without a gap, and
// the incarnations of a peer come one after another, each after the link to the one before went down.
type Sequence struct {
	histories histories
	latest    map[reader]progress
}

// progress is how far the history with the latest incarnation of a peer has come.
type progress struct {
	inc   protocol.Inc
	count uint64
}

// A reader is a member as it knows another.
type reader struct {
	self protocol.Ident
	peer protocol.Rank
}

// NewSequence returns a checker of CH2.
func NewSequence() *Sequence {
	return &Sequence{histories: histories{}, latest: map[reader]progress{}}
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
	switch last := c.latest[who]; {
	case r.Peer.Inc < last.inc:
		return Violatedf(c.Name(), r.T, "the link of %v to %v changes after one to incarnation %d", r.Node, r.Peer, last.inc)
	case r.Peer.Inc > last.inc && up(last.count):
		return Violatedf(c.Name(), r.T, "the link of %v to incarnation %d never went down, and one to %v changes", r.Node, last.inc, r.Peer)
	}
	c.latest[who] = progress{r.Peer.Inc, r.Seq}
	return nil
}

// Finish has nothing to add.
func (c *Sequence) Finish() error { return nil }
