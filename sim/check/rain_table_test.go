package check

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// step adds what one member states in one Step.
func (s *rainTrace) step(node protocol.Rank, facts ...protocol.Fact) *rainTrace {
	s.now += sim.Real(time.Millisecond)
	for _, f := range facts {
		s.now -= sim.Real(time.Millisecond)
		s.add(node, f)
	}
	return s
}

// Facts of the table.

func standing(peer protocol.Rank, is string) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvPeer, Peer: protocol.Ident{Rank: peer, Inc: 1}, Why: is}
}

func nodeIs(is string) protocol.Fact { return protocol.Fact{Ev: protocol.EvNode, Why: is} }

func says(ev protocol.Ev, about, to protocol.Rank, attempt uint64) protocol.Fact {
	return protocol.Fact{Ev: ev, Peer: protocol.Ident{Rank: to, Inc: 1}, Members: protocol.NewSet(about), Seq: attempt, Term: viewAll.Number.Token,
		Gen: viewAll.Number.Vid, Why: "dn"}
}

func posts(what string, to protocol.Rank, seq uint64) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvPost, Peer: protocol.Ident{Rank: to, Inc: 1}, Term: 1, Seq: seq, Why: what}
}

func takes(what string, from protocol.Rank, seq uint64) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvTake, Peer: protocol.Ident{Rank: from, Inc: 1}, Term: 1, Seq: seq, Why: what}
}

func decides(members ...protocol.Rank) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvConv, Members: protocol.NewSet(members...), Term: 1, Gen: 2}
}

// table is three members, a, b and c, in one view.
func table(t *testing.T) *rainTrace {
	s := newRainTrace(t)
	all := rain.View{Number: viewAll.Number, Members: protocol.Everyone(3)}
	for r := range protocol.Rank(3) {
		facts := []protocol.Fact{{Ev: protocol.EvInstall, Members: all.Members, Detail: all}, nodeIs("alive")}
		for j := range protocol.Rank(3) {
			if j != r {
				facts = append(facts, standing(j, "connected"))
			}
		}
		s.step(r, facts...)
	}
	return s
}

// asked is the table after a and b have lost c, and a has asked b about it.
func asked(t *testing.T) *rainTrace {
	return table(t).step(0, standing(2, "lost"), says(protocol.EvCand, 2, 1, 7), posts("rain.Cand", 1, 1)).
		step(1, standing(2, "lost")).
		step(1, takes("rain.Cand", 0, 1), says(protocol.EvAccept, 2, 0, 7), posts("rain.Accept", 0, 1))
}

func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"a loss that all confirm": {asked(t).step(0, takes("rain.Accept", 1, 1), decides(0, 1)), ""},
		"a false alarm":           {asked(t).step(0, standing(2, "connected"), says(protocol.EvCancel, 2, 1, 7), posts("rain.Cancel", 1, 2)), ""},
		"decided too early":       {asked(t).step(0, decides(0, 1)), "R-TAB"},
		"decided on another":      {asked(t).step(0, takes("rain.Accept", 1, 1), decides(0, 1, 2)), "R-TAB"},
		"confirmed by a link that broke": {asked(t).step(0, takes("rain.Accept", 1, 1)).
			step(0, protocol.Fact{Ev: protocol.EvLink, Peer: protocol.Ident{Rank: 1, Inc: 1}, Seq: 2}, decides(0, 1)), "R-TAB"},
		"nobody is asked":     {table(t).step(0, standing(2, "lost")).step(1), "R-TAB"},
		"asked twice":         {asked(t).step(0, says(protocol.EvCand, 2, 1, 8)), "R-TAB"},
		"asked out of turn":   {table(t).step(1, standing(2, "lost"), says(protocol.EvCand, 2, 0, 1)), "R-TAB"},
		"asked without cause": {table(t).step(0, says(protocol.EvCand, 2, 1, 1)), "R-TAB"},
		"the dead ask":        {table(t).step(0, nodeIs("dead"), says(protocol.EvCand, 2, 1, 1)), "R-TAB"},
		"confirmed unasked":   {table(t).step(1, standing(2, "lost"), says(protocol.EvAccept, 2, 0, 7)), "R-TAB"},
		"confirmed by another attempt": {asked(t).step(1, protocol.Fact{Ev: protocol.EvLink, Peer: protocol.Ident{Rank: 0, Inc: 1}, Seq: 2},
			says(protocol.EvAccept, 2, 0, 7)), "R-TAB"},
		"not confirmed": {table(t).step(0, standing(2, "lost"), says(protocol.EvCand, 2, 1, 7), posts("rain.Cand", 1, 1)).
			step(1, standing(2, "lost")).step(1, takes("rain.Cand", 0, 1)), "R-TAB"},
		"not taken back":       {asked(t).step(0, standing(2, "connected")), "R-TAB"},
		"taken back too early": {asked(t).step(0, says(protocol.EvCancel, 2, 1, 7)), "R-TAB"},
		"alive and alone":      {table(t).step(0, standing(1, "lost"), standing(2, "lost")), "R-TAB"},
		"dead and alone":       {table(t).step(0, standing(1, "lost"), standing(2, "lost"), nodeIs("dead")), ""},
	} {
		spec := RainSpec{Group: rainGroup, Live: true}
		if got := c.s.judgedBy(NewTable(c.s, spec)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
