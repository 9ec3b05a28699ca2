package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Locked is H-LOCK: a voter is locked to one member at a time, leaves it only when its clock has passed the end of the lock
// or the lock was given back by a member that no longer leads by it, also across a crash; and a lease ends before the
// lock of each of its supporters.
type Locked struct{ scene *scene }

// Name returns H-LOCK.
func (c *Locked) Name() string { return "H-LOCK" }

// Observe judges what voters and leaders state by the locks that stood before.
func (c *Locked) Observe(r *sim.Record) error {
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
	s := c.scene
	before := &s.did.Before
	switch {
	case before.Stood && before.To != r.Peer:
		return Violatedf(c.Name(), r.T, "%v locks to %v, and is locked to %v", r.Node, r.Peer, before.To)
	case before.Stood && r.Until < before.Until:
		return Violatedf(c.Name(), r.T, "%v shortens its lock on %v from %v to %v", r.Node, r.Peer, before.Until, r.Until)
	}
	promises := s.ledger.Promises(r.Node)
	for i := range promises {
		p := &promises[i]
		if !p.Orphan || p.Domain != protocol.Local || !p.Has(r.Group) || p.To == r.Peer {
			continue
		}
		if end := s.ends(p); end >= r.T {
			return Violatedf(c.Name(), r.T, "%v locks to %v, and before it crashed it locked to %v until %v", r.Node, r.Peer, p.To, end)
		}
	}
	return nil
}

func (c *Locked) ungranted(r *sim.Record) error {
	s := c.scene
	before := &s.did.Before
	switch {
	case !before.Stood || before.To != r.Peer:
		return Violatedf(c.Name(), r.T, "%v ends a lock on %v that it has not given", r.Node, r.Peer)
	case r.Why == "lapsed" && r.At <= before.Until:
		return Violatedf(c.Name(), r.T, "%v lets its lock on %v lapse at %v, before its end %v", r.Node, r.Peer, r.At, before.Until)
	}
	if x := s.leading(r.Peer.Rank, r.T); x != nil && x.Holder == r.Peer && x.Support.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v ends its lock on %v (%s), who leads %v", r.Node, r.Peer, r.Why, x.Support)
	}
	return nil
}

// leased checks that every supporter, or what it was before it crashed, is locked until after the end of the lease.
func (c *Locked) leased(r *sim.Record) error {
	s := c.scene
	x := s.leading(r.Node, r.T)
	if x == nil {
		return nil
	}
	end := s.end(x, r.T)
	locked := s.backers(protocol.Local, x.Group, x.Holder, end)
	if free := x.Support.Minus(locked); !free.Empty() {
		return Violatedf(c.Name(), r.T, "%v leads %v until %v, and %v is not locked to it for so long", r.Node, x.Support, end, free.Min())
	}
	return nil
}

// Finish has nothing to add.
func (c *Locked) Finish() error { return nil }
