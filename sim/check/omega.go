package check

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/sim"
)

// Omega is S-OM: some time after the liveness phase began, every member of the healed core trusts the same member of the
// core, in its present incarnation, and does so until the end. What a member trusts is what its last weak fact says.
type Omega struct {
	truth  Truth
	settle time.Duration

	trusts   []protocol.Ident
	core     protocol.Set
	deadline sim.Real // from here on nothing may change; Forever before the liveness phase
	agreed   bool     // the state at the deadline was looked at
}

// NewOmega returns a checker that gives the core the settle time to agree.
func NewOmega(t Truth, settle time.Duration) *Omega {
	o := &Omega{truth: t, settle: settle, deadline: sim.Forever}
	for range t.Members() {
		o.trusts = append(o.trusts, protocol.NoIdent)
	}
	return o
}

// Name returns S-OM.
func (o *Omega) Name() string { return "S-OM" }

// Observe follows what each member trusts.
func (o *Omega) Observe(r *sim.Record) error {
	if r.T > o.deadline && !o.agreed {
		if err := o.agree(); err != nil {
			return err
		}
	}
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			o.core, o.deadline, o.agreed = r.Members, r.T.Add(o.settle), false
		}
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		o.trusts[r.Node] = protocol.NoIdent
	case protocol.EvWeak:
		if r.T > o.deadline && o.core.Has(r.Node) && r.Peer != o.trusts[r.Node] {
			return Violatedf(o.Name(), r.T, "%v trusts %v instead of %v, %v after its core was healed",
				r.Node, r.Peer, o.trusts[r.Node], r.T.Sub(o.deadline.Add(-o.settle)))
		}
		o.trusts[r.Node] = r.Peer
	}
	return nil
}

// agree checks that the core agrees on one of its members.
func (o *Omega) agree() error {
	o.agreed = true
	first := o.core.Min()
	for r := range o.core.All() {
		leader := o.trusts[r]
		switch {
		case !o.core.Has(leader.Rank):
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, who is not of the healed core %v", r, leader, o.core)
		case leader.Inc != 0 && leader != o.truth.Ident(leader.Rank):
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, who is %v now", r, leader, o.truth.Ident(leader.Rank))
		case leader != o.trusts[first]:
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, but %v trusts %v", r, leader, first, o.trusts[first])
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline. A run that had a liveness phase but
// ended before the deadline has shown nothing, and says so.
func (o *Omega) Finish() error {
	switch {
	case o.agreed || o.deadline == sim.Forever:
		return nil
	case o.truth.Now() < o.deadline:
		return fmt.Errorf("%s cannot be judged: the run ended at %v, before %v", o.Name(), o.truth.Now(), o.deadline)
	}
	return o.agree()
}

// Eventual is T-EL: S-OM under the assumption of an elector that does without timely links. The assumption is enforced by
// how links are in the liveness phase, so a core that does not agree is wrong, not unlucky.
type Eventual struct{ omega *Omega }

// NewEventual returns a checker that gives the core the settle time to agree.
func NewEventual(t Truth, settle time.Duration) *Eventual { return &Eventual{NewOmega(t, settle)} }

// Name returns T-EL.
func (e *Eventual) Name() string { return "T-EL" }

// Observe follows what each member trusts.
func (e *Eventual) Observe(r *sim.Record) error { return e.rename(e.omega.Observe(r)) }

// Finish looks at the end.
func (e *Eventual) Finish() error { return e.rename(e.omega.Finish()) }

func (e *Eventual) rename(err error) error {
	var v *Violation
	if errors.As(err, &v) {
		v.Name = e.Name()
	}
	return err
}

// Counts is T-CNT: the counters of suspicions grow as they should. In one incarnation of a member they never fall. In the
// end, at every member of the healed core, that of the leader stands still, and those of members that are down grow.
//
// A member may have several tables of counters; then the least of a member's counters is what stands still, and all of
// them grow.
type Counts struct {
	truth  Truth
	settle time.Duration
	tables []string

	counts [][]uint64 // by table: of which member, for each accuser
	trusts []protocol.Ident
	core   protocol.Set
	// half is in the middle of the settle time: from here to the end the counters of the dead must grow. From deadline on
	// that of the leader must not.
	half, deadline sim.Real
	then           [][]uint64 // the counters at half
	settled        bool
	leader         protocol.Ident // of the core at the deadline
}

// NewCounts returns a checker for the tables with the given names.
func NewCounts(t Truth, settle time.Duration, tables ...string) *Counts {
	c := &Counts{truth: t, settle: settle, tables: tables, half: sim.Forever, deadline: sim.Forever}
	for range tables {
		c.counts = append(c.counts, make([]uint64, t.Members()*t.Members()))
	}
	c.trusts = make([]protocol.Ident, t.Members())
	return c
}

// Name returns T-CNT.
func (c *Counts) Name() string { return "T-CNT" }

// Observe follows the counters.
func (c *Counts) Observe(r *sim.Record) error {
	if r.T > c.half && c.then == nil {
		for _, t := range c.counts {
			c.then = append(c.then, slices.Clone(t))
		}
	}
	if r.T > c.deadline && !c.settled {
		c.settled, c.leader = true, c.trusts[c.core.Min()]
	}
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			c.core, c.half, c.deadline = r.Members, r.T.Add(c.settle/2), r.T.Add(c.settle)
			c.then, c.settled = nil, false
		}
	case sim.EvStart, sim.EvRestart:
		for _, t := range c.counts {
			clear(c.row(t, r.Node))
		}
	case protocol.EvWeak:
		c.trusts[r.Node] = r.Peer
	case counter.EvCount:
		return c.onCount(r)
	}
	return nil
}

// row returns the counters of one member in a table.
func (c *Counts) row(table []uint64, r protocol.Rank) []uint64 {
	n := c.truth.Members()
	return table[int(r)*n:][:n]
}

// least returns what counts of a member's counters of k.
func (c *Counts) least(r, k protocol.Rank) uint64 {
	least := c.row(c.counts[0], r)[k]
	for _, t := range c.counts[1:] {
		least = min(least, c.row(t, r)[k])
	}
	return least
}

func (c *Counts) onCount(r *sim.Record) error {
	i := slices.Index(c.tables, r.Why)
	if i < 0 {
		return Violatedf(c.Name(), r.T, "%v counts in a table %q; there are %q", r.Node, r.Why, c.tables)
	}
	k := r.Peer.Rank
	before := c.least(r.Node, k)
	count := &c.row(c.counts[i], r.Node)[k]
	if r.Seq <= *count {
		return Violatedf(c.Name(), r.T, "%v lets the counter of %v in %s go from %d to %d", r.Node, k, r.Why, *count, r.Seq)
	}
	*count = r.Seq
	if c.settled && c.core.Has(r.Node) && k == c.leader.Rank && c.least(r.Node, k) != before {
		return Violatedf(c.Name(), r.T, "%v lets the counter of the leader %v grow to %d, %v after its core was healed",
			r.Node, k, r.Seq, r.T.Sub(c.deadline.Add(-c.settle)))
	}
	return nil
}

// Finish looks whether the counters of the dead have grown.
func (c *Counts) Finish() error {
	if c.then == nil {
		return nil
	}
	for r := range c.core.All() {
		for dead := range protocol.Everyone(c.truth.Members()).Minus(c.core).All() {
			for i, t := range c.counts {
				if now, then := c.row(t, r)[dead], c.row(c.then[i], r)[dead]; now <= then {
					return Violatedf(c.Name(), c.truth.Now(), "%v counts %d of %v in %s, who is down, and did at %v", r, now, dead, c.tables[i], c.half)
				}
			}
		}
	}
	return nil
}
