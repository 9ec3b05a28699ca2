package council

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// waiting starts a member of a council that waits for d to come up, for ten minutes at most.
func waiting(t *testing.T) *node {
	c := step(conf(3, "abc"), nil)
	c.Goal = goal("abcd")
	c.Goal.Within = 10 * time.Minute
	c.seat(Member{Seat: 3, Since: 4, Name: "d", Birth: Birth{4}, Guest: true})
	return start(t, "a", settledAt(c, "a"))
}

// R13: a newcomer that is never heard is taken out again, and so is one that was heard once.
func TestNewcomerThatNeverComesIsGivenUp(t *testing.T) {
	for _, heard := range []time.Duration{0, 7 * time.Minute} {
		a := waiting(t)
		a.pass(heard)
		if heard > 0 {
			a.get('d', &Fetch{Have: 3})
		}
		a.pass(10*time.Minute - time.Second)
		if n := a.m.value(); n != nil {
			t.Fatalf("R13: it is given up too early: %+v", n)
		}
		a.pass(2 * time.Second)
		n := a.m.value()
		if n == nil || n.Goal != nil || n.Named("d") != nil || n.Voters() != protocol.NewSet(0, 1, 2) || n.Ended != "given up: d was not heard for 10m0s; nothing was risked" {
			t.Fatalf("R13: it is not given up: %+v", n)
		}
		if _, _, ok := sent[*Prepare](a); !ok {
			t.Error("R13: nobody proposes to give it up")
		}
		if d, err := DecodeConfig(n.Append(nil)); err != nil || d.Ended != n.Ended {
			t.Errorf("%+v, %v", d, err)
		}
		if again := n.Begin(goal("abc"), &View{}, nil); again.Ended != "" {
			t.Errorf("the next change says how the one before ended: %s", again.Ended)
		}
	}
}

// R13: only the silence of a newcomer that is to vote ends a change, and only where the goal says so.
func TestChangeThatIsNotGivenUp(t *testing.T) {
	const late = time.Hour
	for what, change := range map[string]func(*node){
		"a goal without a limit":    func(a *node) { a.m.rec.Conf.Goal.Within = 0 },
		"a newcomer that is heard":  func(a *node) { a.now = a.now.Add(late); a.get('d', &Fetch{Have: 3}); a.now = a.now.Add(-late) },
		"a newcomer that observes":  func(a *node) { a.m.rec.Conf.Goal.Wishes[3].Role = Observer },
		"a newcomer that has votes": func(a *node) { a.m.rec.Conf.Members[3].Role = Leader },
		"a member from before":      func(a *node) { a.m.rec.Conf.Members[3].Guest = false },
	} {
		a := waiting(t)
		change(a)
		a.pass(late)
		if n := a.m.value(); n != nil && n.Ended != "" {
			t.Errorf("R13: %s: %s", what, n.Ended)
		}
	}
}

// A change that was asked for while too few members are heard is forgotten, and nothing has changed.
func TestChangeIsForgottenIfTooFewAreHeard(t *testing.T) {
	ask := func() (*node, Ballot) {
		a := start(t, "a", settledAt(conf(4, "abc"), "a"))
		a.m.opt.Answer = 5 * time.Second
		a.get('b', &Fetch{Have: 4})
		a.pass(time.Millisecond)
		return a, a.propose(goal("ab"))
	}
	a, b := ask()
	a.get('a', &Promise{Slot: 5, Ballot: b})
	a.pass(5*time.Second - 1)
	if !a.m.Wants() {
		t.Error("it is forgotten too early")
	}
	a.pass(1)
	if a.m.Wants() || a.m.Unheard() != protocol.NewSet(1, 2) {
		t.Errorf("too few are heard, and it is not forgotten: silent %v", a.m.Unheard())
	}
	a.pass(time.Minute)
	if _, _, ok := sent[*Prepare](a); ok {
		t.Error("it is proposed though it was forgotten")
	}
	a, b = ask()
	a.pass(time.Second)
	a.get('b', &Refused{Slot: 5, Ballot: b})
	a.pass(time.Minute)
	if !a.m.Wants() || a.m.Unheard() != (protocol.Set{}) {
		t.Error("a majority is heard, and it is forgotten")
	}
	a, b = ask()
	a.get('a', &Promise{Slot: 5, Ballot: b})
	a.get('b', &Promise{Slot: 5, Ballot: b})
	a.pass(4 * trip)
	if _, _, ok := sent[*Accept](a); !ok {
		t.Fatal("nothing is proposed")
	}
	a.m.peer(1).heard = 0
	a.pass(time.Minute)
	if !a.m.Wants() {
		t.Error("a member may have accepted it, and it is said to be forgotten")
	}
}

// A change that is cancelled says where.
func TestCancelledChangeSaysWhere(t *testing.T) {
	a := waiting(t)
	if err := a.m.Change(a.now, Change{}); err != nil {
		t.Fatal(err)
	}
	if n := a.m.value(); n == nil || !strings.Contains(n.Ended, "cancelled at a") {
		t.Errorf("%+v", n)
	}
}
