package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Numbered is S-OM+: whoever trusts somebody under a view number trusts the same member as all others under that number, at
// any time; and in the end the healed core agrees on the number too.
type Numbered struct {
	opinions opinions
	end      end
	holder   map[uint64]protocol.Rank
}

// NewNumbered returns a checker that gives the core the settle time to agree.
func NewNumbered(t Truth, settle time.Duration) *Numbered {
	return &Numbered{opinions: newOpinions(t), end: newEnd(settle), holder: map[uint64]protocol.Rank{}}
}

// Name returns S-OM+.
func (n *Numbered) Name() string { return "S-OM+" }

// Observe compares what members trust under one number.
func (n *Numbered) Observe(r *sim.Record) error {
	if n.end.reached(r) {
		if err := n.agree(r.T); err != nil {
			return err
		}
	}
	n.opinions.follow(r)
	if r.Ev != protocol.EvWeak || r.Peer.Rank == protocol.Nobody {
		return nil
	}
	other, ok := n.holder[r.Term]
	if ok && other != r.Peer.Rank {
		return Violatedf(n.Name(), r.T, "%v trusts %v under the number %d, which was %v's", r.Node, r.Peer, r.Term, other)
	}
	n.holder[r.Term] = r.Peer.Rank
	return nil
}

// agree checks that the core agrees on one number.
func (n *Numbered) agree(t sim.Real) error {
	first := n.end.core.Min()
	for r := range n.end.core.All() {
		if a, b := n.opinions.of[r].term, n.opinions.of[first].term; a != b {
			return Violatedf(n.Name(), t, "%v is at the number %d, but %v at %d", r, a, first, b)
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (n *Numbered) Finish() error {
	if n.end.over(n.opinions.truth.Now()) {
		return n.agree(n.opinions.truth.Now())
	}
	return nil
}

// An end is the last part of a run, in which nothing may change any more.
type end struct {
	settle   time.Duration
	core     protocol.Set
	deadline sim.Real
	seen     bool
}

func newEnd(settle time.Duration) end { return end{settle: settle, deadline: sim.Forever} }

// reached follows the phases, and says once, before the first record of the last part, that it has begun.
func (e *end) reached(r *sim.Record) bool {
	if r.T > e.deadline && !e.seen {
		e.seen = true
		return true
	}
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		e.core, e.deadline, e.seen = r.Members, r.T.Add(e.settle), false
	}
	return false
}

// within says whether a record belongs to the last part.
func (e *end) within(t sim.Real) bool { return t > e.deadline }

// over says whether a run that ends at t had a last part in which nothing happened.
func (e *end) over(t sim.Real) bool { return !e.seen && t >= e.deadline }
