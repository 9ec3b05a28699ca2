package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Locked is H-LOCK: a voter is locked to one member at a time, leaves it only when its clock has passed the end of the lock
// or the lock was given back by a member that no longer leads by it, also across a crash; and a lease ends before the
// lock of each of its supporters.
type Locked struct {
	scene *scene
	// locks are by voter: the newest one of its present incarnation. ghosts are those of earlier ones that still stand.
	locks  []held
	ghosts [][]held
}

// A held lock is what a voter has said of it.
type held struct {
	on    bool
	to    protocol.Ident
	until protocol.Time
	at    sim.Real // when it said so: the clock of that instant counts
}

// NewLocked returns the checker for a scene.
func NewLocked(s *scene) *Locked {
	return &Locked{scene: s, locks: make([]held, s.n), ghosts: make([][]held, s.n)}
}

// Name returns H-LOCK.
func (c *Locked) Name() string { return "H-LOCK" }

// end returns when a lock of a voter ends.
func (c *Locked) end(r protocol.Rank, h *held) sim.Real {
	return c.scene.truth.Clock(r).Reach(h.at, h.until)
}

// Observe follows all locks.
func (c *Locked) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		if h := c.locks[r.Node]; h.on {
			c.ghosts[r.Node] = append(c.ghosts[r.Node], h)
		}
		c.locks[r.Node] = held{}
		return nil
	}
	if r.Dom != protocol.Local || r.Group != c.scene.spec.Group {
		return nil
	}
	switch r.Ev {
	case protocol.EvGrant:
		return c.granted(r)
	case protocol.EvUngrant:
		return c.ungranted(r)
	case protocol.EvLease:
		return c.leased(r)
	}
	return nil
}

func (c *Locked) granted(r *sim.Record) error {
	h := &c.locks[r.Node]
	switch {
	case h.on && h.to != r.Peer:
		return Violatedf(c.Name(), r.T, "%v locks to %v, and is locked to %v", r.Node, r.Peer, h.to)
	case h.on && r.Until < h.until:
		return Violatedf(c.Name(), r.T, "%v shortens its lock on %v from %v to %v", r.Node, r.Peer, h.until, r.Until)
	}
	keep := c.ghosts[r.Node][:0]
	for _, g := range c.ghosts[r.Node] {
		if end := c.end(r.Node, &g); end >= r.T {
			if g.to != r.Peer {
				return Violatedf(c.Name(), r.T, "%v locks to %v, and before it crashed it locked to %v until %v", r.Node, r.Peer, g.to, end)
			}
			keep = append(keep, g)
		}
	}
	c.ghosts[r.Node] = keep
	*h = held{on: true, to: r.Peer, until: r.Until, at: r.T}
	return nil
}

func (c *Locked) ungranted(r *sim.Record) error {
	h := &c.locks[r.Node]
	s := c.scene
	if !h.on || h.to != r.Peer {
		return Violatedf(c.Name(), r.T, "%v ends a lock on %v that it has not given", r.Node, r.Peer)
	}
	if r.Why == "lapsed" && r.At <= h.until {
		return Violatedf(c.Name(), r.T, "%v lets its lock on %v lapse at %v, before its end %v", r.Node, r.Peer, r.At, h.until)
	}
	h.on = false
	if l := &s.leads[r.Peer.Rank]; s.leading(r.Peer.Rank, r.T) && l.inc == r.Peer.Inc && l.support.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v ends its lock on %v (%s), who leads %v", r.Node, r.Peer, r.Why, l.support)
	}
	return nil
}

// leased checks that every supporter is locked until after the end of the lease.
func (c *Locked) leased(r *sim.Record) error {
	s := c.scene
	if !s.leading(r.Node, r.T) {
		return nil
	}
	l := &s.leads[r.Node]
	end := s.truth.Clock(r.Node).Reach(r.T, l.until)
	me := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	for q := range l.support.All() {
		if !c.stands(q, me, end) {
			return Violatedf(c.Name(), r.T, "%v leads %v until %v, and %v is not locked to it for so long", r.Node, l.support, end, q)
		}
	}
	return nil
}

// stands says whether a voter, or what it was before it crashed, is locked to a member until t or later.
func (c *Locked) stands(q protocol.Rank, to protocol.Ident, t sim.Real) bool {
	if h := &c.locks[q]; h.on && h.to == to && c.end(q, h) >= t {
		return true
	}
	for i := range c.ghosts[q] {
		if g := &c.ghosts[q][i]; g.to == to && c.end(q, g) >= t {
			return true
		}
	}
	return false
}

// Finish has nothing to add.
func (c *Locked) Finish() error { return nil }
