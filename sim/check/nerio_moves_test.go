package check

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/sim"
)

// movesTrace is a balanced council of three in which c is a witness, told to the checker event by event.
type movesTrace struct {
	c   *Moves
	now sim.Real
	err error
}

func newMovesTrace() *movesTrace {
	x := &movesTrace{c: NewMoves(protocol.NewSet(0, 1), 1, time.Second)}
	for r := range protocol.Rank(3) {
		x.see(r, protocol.Fact{Ev: sim.EvStart})
		x.see(r, protocol.Fact{Ev: sim.EvCommand, Why: "campaign", Group: "g"})
		x.see(r, protocol.Fact{Ev: sim.EvCommand, Why: "campaign", Group: "h"})
	}
	return x
}

func (x *movesTrace) see(node protocol.Rank, f protocol.Fact) {
	x.now += sim.Real(100 * time.Millisecond)
	r := sim.Record{T: x.now, Node: node, Fact: f}
	if err := x.c.Observe(&r); err != nil && x.err == nil {
		x.err = err
	}
}

// move has a leader hand a group over in its tenure.
func (x *movesTrace) move(from, to protocol.Rank, g protocol.Group, tenure uint64) {
	v := &protocol.View{Group: g, Domain: protocol.Quorum, Leader: protocol.Ident{Rank: from}, Tenure: tenure, Stop: true, Cause: protocol.Cause{Code: protocol.Balanced, Peer: to}}
	x.see(from, protocol.Fact{Ev: sim.EvView, Group: g, Dom: protocol.Quorum, Detail: v})
}

func (x *movesTrace) leads(r protocol.Rank, g protocol.Group, tenure uint64) {
	x.see(r, protocol.Fact{Ev: protocol.EvLease, Dom: protocol.Quorum, Group: g, Tenure: tenure})
}

func TestMoves(t *testing.T) {
	health := func(x *movesTrace, why string) {
		x.see(1, protocol.Fact{Ev: protocol.EvHealth, Why: why})
		x.now += sim.Real(2 * time.Second)
	}
	for name, c := range map[string]struct {
		tell func(x *movesTrace)
		want string
	}{
		"after a start":  {func(x *movesTrace) { x.move(0, 1, "g", 1) }, ""},
		"shown again":    {func(x *movesTrace) { x.move(0, 1, "g", 1); x.move(0, 1, "g", 1) }, ""},
		"one by one":     {func(x *movesTrace) { x.move(0, 1, "g", 1); x.leads(1, "g", 7); x.move(0, 1, "h", 2) }, ""},
		"two at once":    {func(x *movesTrace) { x.move(0, 1, "g", 1); x.move(0, 1, "h", 2) }, "moves 2 groups at once"},
		"of two leaders": {func(x *movesTrace) { x.move(0, 1, "g", 1); x.move(1, 0, "h", 2) }, ""},
		"to a witness":   {func(x *movesTrace) { x.move(0, 2, "g", 1) }, "may not lead"},
		"without a join": {func(x *movesTrace) {
			x.move(0, 1, "g", 1)
			x.leads(1, "g", 7)
			x.leads(0, "g", 2)
			x.move(0, 1, "g", 2)
		}, "has not joined"},
		"came to nothing": {func(x *movesTrace) { x.move(0, 1, "g", 1); x.leads(0, "g", 2); x.move(0, 1, "g", 2) }, ""},
		"after an undrain": {func(x *movesTrace) {
			x.move(0, 1, "g", 1)
			x.leads(1, "g", 7)
			health(x, "drained")
			x.leads(0, "g", 2)
			health(x, "well")
			x.move(0, 1, "g", 2)
		}, ""},
		"after a recovery": {func(x *movesTrace) {
			x.move(0, 1, "g", 1)
			x.leads(1, "g", 7)
			health(x, "ill")
			x.leads(0, "g", 2)
			health(x, "well")
			x.move(0, 1, "g", 2)
		}, "has not joined"},
		"to the ill":     {func(x *movesTrace) { health(x, "ill"); x.move(0, 1, "g", 1) }, "is ill or drained"},
		"to the drained": {func(x *movesTrace) { health(x, "drained"); x.move(0, 1, "g", 1) }, "is ill or drained"},
		"to the dead": {func(x *movesTrace) {
			x.see(1, protocol.Fact{Ev: sim.EvCrash})
			x.now += sim.Real(2 * time.Second)
			x.move(0, 1, "g", 1)
		}, "is down"},
		"to one that was back at once": {func(x *movesTrace) {
			x.see(1, protocol.Fact{Ev: sim.EvCrash})
			x.see(1, protocol.Fact{Ev: sim.EvRestart})
			x.move(0, 1, "g", 1)
		}, ""},
		"to one that is back without its program": {func(x *movesTrace) {
			x.see(1, protocol.Fact{Ev: sim.EvCrash})
			x.see(1, protocol.Fact{Ev: sim.EvRestart})
			x.now += sim.Real(time.Second)
			x.move(0, 1, "g", 1)
		}, "no program that waits"},
		"to nobody": {func(x *movesTrace) {
			x.see(1, protocol.Fact{Ev: sim.EvCommand, Why: "resign", Group: "g"})
			x.now += sim.Real(2 * time.Second)
			x.move(0, 1, "g", 1)
		}, "no program that waits"},
		"to where none ever was": {func(x *movesTrace) { x.move(0, 1, "other", 1) }, "no program that waits"},
	} {
		x := newMovesTrace()
		c.tell(x)
		if (x.err == nil) != (c.want == "") || x.err != nil && !strings.Contains(x.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, x.err, c.want)
		}
	}
}

// The leader of a council that changes hands over by its own configuration.
func TestMovesInACouncilThatChanges(t *testing.T) {
	// a leads and goes last; b may lead from number 2 on, and c goes first by its priority from then on.
	conf := func(number uint64, b council.Role, priority int) *council.Config {
		return &council.Config{Number: number, Members: []council.Member{{Seat: 0, Name: "a", Role: council.Leader},
			{Seat: 1, Name: "b", Role: b, Since: 1, Priority: 1}, {Seat: 2, Name: "c", Role: council.Leader, Priority: priority}}}
	}
	first, second := conf(1, council.Observer, -1), conf(2, council.Leader, 2)
	begin := func() *movesTrace {
		x := newMovesTrace()
		x.c.leaders = protocol.Set{}
		for _, c := range []*council.Config{first, second} {
			x.see(0, protocol.Fact{Ev: protocol.EvChosen, Detail: c})
		}
		for r := range protocol.Rank(3) {
			x.see(r, protocol.Fact{Ev: protocol.EvAdopt, Seq: 1})
		}
		return x
	}
	adopt := func(x *movesTrace, r protocol.Rank) { x.see(r, protocol.Fact{Ev: protocol.EvAdopt, Seq: 2}) }
	for name, c := range map[string]struct {
		tell func(x *movesTrace)
		want string
	}{
		"to a newcomer with a vote":   {func(x *movesTrace) { adopt(x, 0); adopt(x, 1); x.move(0, 1, "g", 1) }, ""},
		"to one without a vote":       {func(x *movesTrace) { adopt(x, 1); x.move(0, 1, "g", 1) }, "may not lead it in configuration 1"},
		"by the new priorities":       {func(x *movesTrace) { adopt(x, 0); x.move(0, 2, "g", 1) }, ""},
		"by priorities of later":      {func(x *movesTrace) { x.move(0, 2, "g", 1) }, "does not go before it in configuration 1"},
		"in the Step of the adoption": {func(x *movesTrace) { x.move(0, 1, "g", 1); x.now -= sim.Real(100 * time.Millisecond); adopt(x, 0) }, ""},
		"to one that goes behind": {func(x *movesTrace) {
			adopt(x, 0)
			adopt(x, 2)
			x.move(0, 2, "g", 1)
			x.leads(2, "g", 7)
			x.move(2, 1, "h", 3)
		}, "does not go before"},
		"again with a step and no reason": {func(x *movesTrace) {
			adopt(x, 0)
			x.move(0, 2, "g", 1)
			x.leads(2, "g", 7)
			adopt(x, 2)
			x.leads(0, "g", 8)
			x.move(0, 2, "g", 4)
		}, "has not joined"},
	} {
		x := begin()
		c.tell(x)
		if x.err == nil {
			x.see(2, protocol.Fact{Ev: protocol.EvSettle})
		}
		if (x.err == nil) != (c.want == "") || x.err != nil && !strings.Contains(x.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, x.err, c.want)
		}
	}
}
