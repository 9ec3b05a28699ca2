package check

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
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
