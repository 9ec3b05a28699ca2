package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// OneRecovery is R-ONCE: one program recovers what an agreement asks for, once. It is asked by the present agreement of its member, and again only if its
// reader has ended. While it recovers, no program of another member of the agreement is asked, unless its leave to go on is over by its member's clock:
// a process that was paused may still read what it was to do, and what it does then is no part of the group. A report counts once, for the present agreement, after the
// program has finished, and while its membership lasts; and what counts at the protocol was reported so.
type OneRecovery struct {
	group  protocol.Group
	ledger *timedLedger
	of     map[protocol.Rank]*recovering
	// counted are the agreements whose report counted, with where.
	counted map[rain.Number]protocol.Rank
}

// recovering is what is known of the program of one membership.
type recovering struct {
	present rain.Number
	horizon protocol.HorizonID
	members protocol.Set
	asks    bool
	// asked, finished and counted are about the present agreement; read says that the reader that asked has not ended.
	asked, read, finished, counted bool
}

// NewOneRecovery returns the checker of one group.
func NewOneRecovery(t Truth, g protocol.Group) *OneRecovery {
	return &OneRecovery{g, newTimedLedger(t), make(map[protocol.Rank]*recovering), make(map[rain.Number]protocol.Rank)}
}

// Name returns R-ONCE.
func (c *OneRecovery) Name() string { return "R-ONCE" }

// Observe follows what members agree on, and what their programs do.
func (c *OneRecovery) Observe(r *sim.Record) error {
	c.ledger.enter(r)
	if r.Ev == sim.EvCrash || r.Ev == sim.EvClose {
		delete(c.of, r.Node)
	}
	if r.Group != c.group || r.Dom != protocol.Consistent {
		return nil
	}
	switch r.Ev {
	case sim.EvView:
		c.view(r)
	case sim.EvRecover:
		return c.program(r)
	case protocol.EvDone:
		if n := (rain.Number{Token: r.Term, Vid: r.Gen}); !c.has(r.Node, n) {
			return Violatedf(c.Name(), r.T, "%v takes view %v as recovered, and no report of its program counted", r.Node, n)
		}
		if p := c.of[r.Node]; p != nil && c.over(r.Node, p, r.T) {
			return Violatedf(c.Name(), r.T, "%v takes view %v as recovered, and its leave to go on was over", r.Node, rain.Number{Token: r.Term, Vid: r.Gen})
		}
	}
	return nil
}

func (c *OneRecovery) has(q protocol.Rank, n rain.Number) bool {
	at, ok := c.counted[n]
	return ok && at == q
}

func (c *OneRecovery) view(r *sim.Record) {
	v, ok := r.Detail.(*protocol.View)
	if !ok {
		return
	}
	if v.Agreed == nil {
		delete(c.of, r.Node)
		return
	}
	n, p := rain.Number{Token: v.Term, Vid: v.Agreed.Vid}, c.of[r.Node]
	if p == nil || p.present != n {
		p = &recovering{present: n, members: v.Support}
		c.of[r.Node] = p
	}
	p.horizon = v.Horizon
	p.asks = p.asks || v.Agreed.Recover
}

// over says whether the leave of a member's program to go on is over.
func (c *OneRecovery) over(q protocol.Rank, p *recovering, t sim.Real) bool {
	end, _ := c.ledger.ledger.End(q, protocol.Consistent, c.group, p.horizon)
	return c.ledger.truth.Clock(q).At(t) >= end
}

// program judges what the program does at the agreement (Term, Gen).
func (c *OneRecovery) program(r *sim.Record) error {
	n, p := rain.Number{Token: r.Term, Vid: r.Gen}, c.of[r.Node]
	present := p != nil && p.present == n
	switch r.Why {
	case "asked":
		switch {
		case !present || !p.asks:
			return Violatedf(c.Name(), r.T, "the program of %v is asked to recover by view %v, which is not the present one or asks for nothing", r.Node, n)
		case p.asked && p.read || p.counted:
			return Violatedf(c.Name(), r.T, "the program of %v is asked twice to recover by view %v", r.Node, n)
		}
		late := c.over(r.Node, p, r.T)
		for q, o := range c.of { // order does not matter: any of them is one too many
			if !late && q != r.Node && o.asked && !o.finished && p.members.Has(q) {
				return Violatedf(c.Name(), r.T, "the program of %v is asked to recover by view %v while that of %v recovers by view %v", r.Node, n, q, o.present)
			}
		}
		p.asked, p.read = true, true
	case "unread":
		if present {
			p.read = false
		}
	case "finished":
		if present {
			p.finished = true
		}
	case "counts":
		switch {
		case !present:
			return Violatedf(c.Name(), r.T, "a report of view %v by the program of %v counts, and that is not the present one", n, r.Node)
		case !p.asked || !p.finished:
			return Violatedf(c.Name(), r.T, "a report of view %v by the program of %v counts, which has not recovered it", n, r.Node)
		case p.counted:
			return Violatedf(c.Name(), r.T, "two reports of view %v by the program of %v count", n, r.Node)
		}
		p.counted = true
		c.counted[n] = r.Node
	}
	return nil
}

// Finish has nothing to add: a program that is never asked keeps the members from the next agreement, which is R-WL.
func (c *OneRecovery) Finish() error { return nil }
