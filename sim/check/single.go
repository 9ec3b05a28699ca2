package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Single is CH4: what one end finds out makes at most one transition at each end. A transition that an end merely followed was made
// by the other before, under the same number, so each number has one that made it for a reason. And no end comes up by itself
// before messages have gone to the other end and back since it went down: what took it down is not over before. (Another
// incarnation of the other end is another history, which may begin with what was said to the one before.)
type Single struct {
	histories histories
	n         int
	fell      []sim.Real     // by end and peer: when the link last went down, or the end started
	reached   []sim.Real     // when a message of the end first arrived after that; Forever: none did
	back      []sim.Real     // when one of the peer last did
	with      []protocol.Inc // with which incarnation of the peer it was that it went down
}

// NewSingle returns a checker of CH4. It needs the records of messages.
func NewSingle(t Truth) *Single {
	n := t.Members()
	c := &Single{histories: histories{}, n: n, fell: make([]sim.Real, n*n), reached: make([]sim.Real, n*n), back: make([]sim.Real, n*n),
		with: make([]protocol.Inc, n*n)}
	for i := range c.reached {
		c.reached[i] = sim.Forever
	}
	return c
}

// Name returns CH4.
func (c *Single) Name() string { return "CH4" }

// Observe follows messages, and looks at every transition.
func (c *Single) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvDeliver:
		sent := way(c.n, r.Peer.Rank, r.Node)
		c.reached[sent] = min(c.reached[sent], r.T)
		c.back[way(c.n, r.Node, r.Peer.Rank)] = r.T
	case sim.EvStart, sim.EvRestart:
		for peer := range protocol.Rank(c.n) {
			c.fall(way(c.n, r.Node, peer), r.T, 0)
		}
	case protocol.EvLink:
		return c.onLink(r)
	}
	return nil
}

func (c *Single) fall(end int, t sim.Real, with protocol.Inc) {
	c.fell[end], c.reached[end], c.with[end] = t, sim.Forever, with
}

// onLink looks at a transition.
func (c *Single) onLink(r *sim.Record) error {
	mine, other := c.histories.ends(r)
	*mine = r.Seq
	end := way(c.n, r.Node, r.Peer.Rank)
	switch {
	case r.Why == "followed" && *other < r.Seq:
		return Violatedf(c.Name(), r.T, "%v follows transition %d of its link to %v, which is at %d itself", r.Node, r.Seq, r.Peer, *other)
	case r.Why == "tin" && (c.with[end] == 0 || c.with[end] == r.Peer.Inc) && c.back[end] < c.reached[end]:
		return Violatedf(c.Name(), r.T, "%v takes its link to %v up, although since %v nothing has gone there and back", r.Node, r.Peer, c.fell[end])
	}
	if !up(r.Seq) {
		c.fall(end, r.T, r.Peer.Inc)
	}
	return nil
}

// Finish has nothing to add.
func (c *Single) Finish() error { return nil }
