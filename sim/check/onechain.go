package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// OneChain is R-UNIQ: a number is that of one view, and each view that programs are told of was decided on top of the one that they were
// told of before it; unless everybody that knew that one has lost its record since.
type OneChain struct {
	group  protocol.Group
	views  map[rain.Number]*rain.View
	last   *rain.View // that programs were told of
	told   map[protocol.Ident]rain.Number
	knows  map[protocol.Rank]rain.Number // the last view that each has
	forgot protocol.Set                  // whose views are hearsay, and on no disk
}

// NewOneChain returns the checker of one group.
func NewOneChain(g protocol.Group) *OneChain {
	return &OneChain{group: g, views: make(map[rain.Number]*rain.View), told: make(map[protocol.Ident]rain.Number),
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
	} else if *old != v {
		return Violatedf(c.Name(), r.T, "%v installs view %v of %v under %v; elsewhere it is of %v under %v",
			r.Node, v.Number, v.Members, v.Manager, old.Members, old.Manager)
	}
	return nil
}

func (c *OneChain) reported(r *sim.Record, told *protocol.View) error {
	n := rain.Number{Token: told.Term, Vid: told.Agreed.Vid}
	v := c.views[n]
	who := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	switch before := c.told[who]; {
	case v == nil || v.Members != told.Support || v.Manager != told.Leader.Rank:
		return Violatedf(c.Name(), r.T, "%v is told of view %v of %v, which nobody installed", r.Node, n, told.Support)
	case n.Compare(before) < 0:
		return Violatedf(c.Name(), r.T, "%v is told of view %v after %v", r.Node, n, before)
	}
	c.told[who] = n
	if c.last != nil && n.Compare(c.last.Number) <= 0 {
		return nil
	}
	if !c.descends(v) {
		return Violatedf(c.Name(), r.T, "%v is told of view %v of %v, which was not decided on top of %v of %v",
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
