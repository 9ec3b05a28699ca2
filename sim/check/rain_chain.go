package check

import (
	"reflect"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// OneChain is R-UNIQ: a number is that of one view, and each view that programs receive was decided on top of the one that they
// received before it; unless all members that knew that one have lost their records since.
type OneChain struct {
	group  protocol.Group
	views  map[rain.Number]*rain.View
	last   *rain.View // that programs received
	latest map[protocol.Ident]rain.Number
	knows  map[protocol.Rank]rain.Number // the last view that each has
	forgot protocol.Set                  // whose views are hearsay, and on no disk
}

// NewOneChain returns the checker of one group.
func NewOneChain(g protocol.Group) *OneChain {
	return &OneChain{group: g, views: make(map[rain.Number]*rain.View), latest: make(map[protocol.Ident]rain.Number),
		knows: make(map[protocol.Rank]rain.Number)}
}

// Name returns R-UNIQ.
func (c *OneChain) Name() string { return "R-UNIQ" }

// Observe follows what is installed and reported.
func (c *OneChain) Observe(r *sim.Record) error {
	switch {
	case r.Ev == protocol.EvSpeak && r.Why == "recovered":
		c.forgot.Add(r.Node)
		c.forget(r.Node)
	case r.Ev == sim.EvCrash && c.forgot.Has(r.Node):
		c.forget(r.Node)
	}
	if r.Group != c.group {
		return nil
	}
	switch r.Ev {
	case protocol.EvInstall:
		return c.installed(r)
	case sim.EvView:
		if v, ok := r.Detail.(*protocol.View); ok && v.Domain == protocol.Consistent && v.Agreed != nil {
			return c.reported(r, v)
		}
	}
	return nil
}

// forget follows the loss of a record. If nobody is left who knows the last view, what follows cannot be on top of it.
func (c *OneChain) forget(r protocol.Rank) {
	delete(c.knows, r)
	if c.last == nil {
		return
	}
	for _, n := range c.knows {
		if n.Compare(c.last.Number) >= 0 {
			return
		}
	}
	c.last = nil
}

func (c *OneChain) installed(r *sim.Record) error {
	v, ok := r.Detail.(rain.View)
	if !ok {
		return Violatedf(c.Name(), r.T, "%v installs something that is no view", r.Node)
	}
	c.knows[r.Node] = v.Number
	if r.Why != "heard" {
		c.forgot.Remove(r.Node)
	}
	old := c.views[v.Number]
	if old == nil {
		c.views[v.Number] = &v
	} else if !reflect.DeepEqual(*old, v) {
		return Violatedf(c.Name(), r.T, "%v installs view %v of %v under %v; elsewhere it is of %v under %v",
			r.Node, v.Number, v.Members, v.Manager, old.Members, old.Manager)
	}
	return nil
}

func (c *OneChain) reported(r *sim.Record, got *protocol.View) error {
	n := rain.Number{Token: got.Term, Vid: got.Agreed.Vid}
	v := c.views[n]
	who := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	switch before := c.latest[who]; {
	case v == nil || v.Members != got.Support || v.Manager != got.Leader.Rank:
		return Violatedf(c.Name(), r.T, "the program of %v receives view %v of %v, which no member installed", r.Node, n, got.Support)
	case n.Compare(before) < 0:
		return Violatedf(c.Name(), r.T, "the program of %v receives view %v after %v", r.Node, n, before)
	}
	c.latest[who] = n
	if c.last != nil && n.Compare(c.last.Number) <= 0 {
		return nil
	}
	if !c.descends(v) {
		return Violatedf(c.Name(), r.T, "the program of %v receives view %v of %v, which was not decided on top of %v of %v",
			r.Node, n, v.Members, c.last.Number, c.last.Members)
	}
	c.last = v
	return nil
}

// descends says whether v was decided on top of the last view that was reported, or is that view under a later token.
func (c *OneChain) descends(v *rain.View) bool {
	if c.last == nil {
		return true
	}
	for v != nil && v.Number.Vid > c.last.Number.Vid {
		v = c.views[v.Parent]
	}
	return v != nil && v.Number.Vid == c.last.Number.Vid && v.Members == c.last.Members
}

// Finish has nothing to add.
func (c *OneChain) Finish() error { return nil }

// Outside is R-OUT: once programs receive a view, no program of a member that is not of it goes on. A program goes on until it
// receives that its member is dead, or until its leave is over by its member's clock, whichever is first.
type Outside struct {
	agreements
	ledger *timedLedger
	last   agreement // the latest that any program received
}

// NewOutside returns the checker of one group.
func NewOutside(t Truth, g protocol.Group) *Outside {
	return &Outside{agreements: newAgreements(t, g), ledger: newTimedLedger(t)}
}

// Name returns R-OUT.
func (o *Outside) Name() string { return "R-OUT" }

// Observe judges all members at each report, and each by itself when it goes on for longer.
func (o *Outside) Observe(r *sim.Record) error {
	o.ledger.enter(r)
	if r.Ev == protocol.EvHorizon && r.Dom == protocol.Consistent && r.Group == o.group {
		return o.judge(r.Node, r.T)
	}
	if !o.follow(r) {
		return nil
	}
	if now := o.now[r.Node]; now.number.Compare(o.last.number) > 0 {
		o.last = now
		for q := range protocol.Rank(len(o.now)) {
			if err := o.judge(q, r.T); err != nil {
				return err
			}
		}
	}
	return o.judge(r.Node, r.T)
}

func (o *Outside) judge(q protocol.Rank, t sim.Real) error {
	a := &o.now[q]
	if a.number.Vid == 0 || o.last.members.Has(q) {
		return nil
	}
	end, _ := o.ledger.ledger.End(q, protocol.Consistent, o.group, a.horizon)
	if clock := o.ledger.truth.Clock(q).At(t); clock < end {
		return Violatedf(o.Name(), t, "%v goes on in view %v of %v until %v; its clock shows %v, and programs received view %v of %v",
			q, a.number, a.members, end, clock, o.last.number, o.last.members)
	}
	return nil
}

// Finish has nothing to add.
func (o *Outside) Finish() error { return nil }

// Recovered is R-REC: no change is decided while a manager that is still a member recovers what was lost by the one before. If it is not one any
// more, what it had to recover is named as unfinished.
type Recovered struct {
	group protocol.Group
	views map[rain.Number]rain.View
	done  map[rain.Number]bool
}

// NewRecovered returns the checker of one group.
func NewRecovered(g protocol.Group) *Recovered {
	return &Recovered{g, make(map[rain.Number]rain.View), make(map[rain.Number]bool)}
}

// Name returns R-REC.
func (c *Recovered) Name() string { return "R-REC" }

// Observe judges each decision by the view on top of which it is made.
func (c *Recovered) Observe(r *sim.Record) error {
	if r.Group != c.group || r.Dom != protocol.Consistent {
		return nil
	}
	switch r.Ev {
	case protocol.EvDone:
		c.done[rain.Number{Token: r.Term, Vid: r.Gen}] = true
	case protocol.EvInstall:
		v, ok := r.Detail.(rain.View)
		if !ok {
			return nil
		}
		c.views[v.Number] = v
		if r.Why == "decided" {
			return c.decided(r, &v)
		}
	}
	return nil
}

func (c *Recovered) decided(r *sim.Record, v *rain.View) error {
	before, ok := c.views[v.Parent]
	if !ok || c.done[v.Parent] {
		return nil
	}
	if stays := v.Members.Minus(v.Joined); stays.Has(before.Manager) {
		return Violatedf(c.Name(), r.T, "%v decides view %v while %v recovers what was lost by %v", r.Node, v.Number, before.Manager, v.Parent)
	}
	for _, lost := range append(slices.Clone(before.Unfinished), protocol.Loss{Number: before.Before, Members: before.Failed}) {
		for seat := range lost.Members.All() {
			if !slices.ContainsFunc(v.Unfinished, func(l protocol.Loss) bool { return l.Number == lost.Number && l.Members.Has(seat) }) {
				return Violatedf(c.Name(), r.T, "%v decides view %v and forgets that %v of configuration %d, lost before %v, was not recovered", r.Node, v.Number, seat,
					lost.Number, v.Parent)
			}
		}
	}
	return nil
}

// Finish has nothing to add.
func (c *Recovered) Finish() error { return nil }
