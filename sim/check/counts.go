package check

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/sim"
)

// Counts is T-CNT: the counters of suspicions grow as they should. In one incarnation of a member they never fall. In the
// end, at every member of the healed core, that of the leader stands still, and those of members that are down grow.
//
// A member may have several tables of counters; then the least of a member's counters is what stands still, and all of
// them grow.
type Counts struct {
	truth  Truth
	settle time.Duration
	tables []string

	counts [][]uint64 // by table: of whom, for each who
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
