package council

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// marks shows the standing of members by a, d, w and s: accepted, adopted, waited and settled.
func (n *node) marks(seats string) (text string) {
	for _, c := range seats {
		s := n.m.Standing(n.now, protocol.Rank(c-'a'))
		text += string(c)
		for _, x := range []struct {
			is   bool
			mark string
		}{{s.Accepted, "A"}, {s.Adopted, "D"}, {s.Waited, "W"}, {s.Settled, "S"}} {
			if x.is {
				text += x.mark
			}
		}
		if s.Assigned > 0 {
			text += fmt.Sprint(s.Assigned)
		}
		text += " "
	}
	return text
}

// waits shows the phase and for whom the machine waits.
func (n *node) waits() string {
	phase, waits := n.m.Progress(n.now)
	return fmt.Sprintf("%d%v", phase, waits)
}

// Marks and waits follow a change from the question to its end, by what the members say themselves.
func TestStandingFollowsAChange(t *testing.T) {
	n := start(t, "a", settledAt(conf(4, "abc"), "a"), func(n *node) { n.assigned = 2 })
	expect := func(what, marks, waits string) {
		t.Helper()
		if got := n.marks("abcd"); got != marks {
			t.Errorf("%s: %s, want %s", what, got, marks)
		}
		if got := n.waits(); got != waits {
			t.Errorf("%s: waits %s, want %s", what, got, waits)
		}
	}
	expect("nothing runs", "aDWS2 b c d ", "0{}")
	goal := &Goal{Terms: n.m.Conf().Terms}
	for _, r := range "abcd" {
		goal.Wishes = append(goal.Wishes, Wish{Name: string(r), Role: Leader, Seat: protocol.Nobody})
	}
	n.step(func() {
		if err := n.m.Change(n.now, Change{Goal: goal}); err != nil {
			t.Fatal(err)
		}
		n.m.Step(n.now, protocol.Tick{}, &n.out)
	})
	p, _, ok := sent[*Prepare](n)
	if !ok {
		t.Fatal("nothing is proposed")
	}
	expect("asked", "aDWS2 b c d ", "5{a b c}")
	for _, r := range "abc" {
		n.get(r, &Promise{Slot: p.Slot, Ballot: p.Ballot})
	}
	expect("promised", "aDWS2 b c d ", "5{a b c}")
	n.get('b', &Accepted{Slot: p.Slot, Ballot: p.Ballot})
	expect("accepted by one", "aDWS2 bA c d ", "5{a c}")
	n.promised = n.now.Add(time.Second)
	n.get('c', &Accepted{Slot: p.Slot, Ballot: p.Ballot})
	expect("adopted here", "aD2 b c d ", "1{a b c}")
	n.get('b', &Carry{Number: 4, Waited: true, Settled: true, Assigned: 9})
	expect("b is behind", "aD2 b c d ", "1{a b c}")
	n.get('b', &Carry{Number: 5, Waited: true, Assigned: 2})
	expect("b has waited", "aD2 bDW2 c d ", "1{a c}")
	n.get('d', &Carry{Number: 5})
	n.get('c', &Carry{Number: 5, Waited: true, Settled: true})
	expect("c has settled, and so this member", "aDWS2 bDW2 cDWS dD ", "2{d}")
}
