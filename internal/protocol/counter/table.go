package counter

import (
	"math"

	"github.com/regentproject/regent/internal/protocol"
)

// The facts of these electors.
const (
	EvCount = protocol.EvCount
	EvRound = protocol.EvRound
)

// A Table holds a counter for each member.
type Table struct {
	name   string
	m      *Machine
	counts []uint64
}

// NewTable returns a table of zeros; name tells the tables of a machine apart in facts.
func NewTable(m *Machine, name string) *Table {
	return &Table{name: name, m: m, counts: make([]uint64, m.config.Members)}
}

// Counts returns the counters by rank. They belong to the table.
func (t *Table) Counts() []uint64 { return t.counts }

// Raise lets the counter of a member grow to the given value, if it is lower. The cause becomes that of the view if the
// member leads and loses the lead by it.
func (t *Table) Raise(k protocol.Rank, to uint64, why protocol.Cause) {
	if t.counts[k] >= to {
		return
	}
	t.counts[k] = to
	if k == t.m.leader.Rank && t.m.why.Code == protocol.Unexplained {
		t.m.why = why
	}
	t.m.State(protocol.Fact{Ev: EvCount, Peer: t.m.Ident(k), Seq: to, Why: t.name})
}

// Merge takes over counters that are higher in what from gossips.
func (t *Table) Merge(from protocol.Rank, counts []uint64) {
	for k, c := range counts {
		if c > t.counts[k] {
			t.Raise(protocol.Rank(k), c, protocol.Cause{Code: protocol.Doubted, Peer: from})
		}
	}
}

// Leap returns the value to which a suspicion of k raises a counter that has the given value: one more, in the paper's
// protocol; otherwise one more than the least counter of the others that stand well, in each table. So a leader is deposed
// as soon as it is suspected, however long it led (E-T1). A counter at the end of its range stays there.
//
// With two tables, one of which suspects everybody for ever, it is the other that must decide. It does not before all
// counters of the first have passed its least one. If a leap looked at its own table only that would take as many
// suspicions as the other table is ahead, which is again a matter of how long the council has lived.
//
// Ω survives it. A member that is suspected for ever is bumped for ever, and gains at least one each time. One that is not
// suspected any more keeps its counter, and nobody leaps over it by more than one, so nothing runs away with it.
func (t *Table) Leap(k protocol.Rank, from uint64) uint64 {
	if !t.m.config.Plain {
		for _, s := range t.m.sources {
			from = max(from, s.Table().least(s.Well(k)))
		}
	}
	if from == math.MaxUint64 {
		return from
	}
	return from + 1
}

// least returns the least counter of some members; zero if there are none.
func (t *Table) least(of protocol.Set) uint64 {
	if of.Empty() {
		return 0
	}
	least := uint64(math.MaxUint64)
	for r := range of.All() {
		least = min(least, t.counts[r])
	}
	return least
}
