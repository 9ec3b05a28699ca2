package council

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// walk takes the steps to a goal, each of which must be one, until the change is over or has to wait. It returns the voters of each.
func walk(t *testing.T, c *Config, g *Goal, v func(*Config) View) (path []string, last *Config) {
	t.Helper()
	n := 0
	birth := func(string) Birth { n++; return Birth{byte(n), 1} }
	view := v(c)
	next := c.Begin(g, &view, birth)
	for next != nil {
		c.precede(next)
		if err := c.CheckStep(next); err != nil {
			t.Fatalf("from %v to %v: %v", c.Voters(), next.Voters(), err)
		}
		c = next
		path = append(path, fmt.Sprint(c.Voters()))
		view = v(c)
		next = c.Next(&view, birth)
		if len(path) > 50 {
			t.Fatal("the way does not end")
		}
	}
	return path, c
}

// well is a view in which all members are up and ready.
func well(c *Config) View { return View{Ready: c.Present()} }

func TestWaysToAGoal(t *testing.T) {
	for _, x := range []struct {
		name, from, to, path string
		view                 func(*Config) View
		over                 bool
	}{
		{"a newcomer", "abc", "abcd", "[{a b c} {a b c d} {a b c d}]", well, true},
		{"a member goes", "abc", "ab", "[{a b} {a b}]", well, true},
		{"one to three", "a", "abc", "[{a} {a b} {a b c} {a b c}]", well, true},
		{"a living one is replaced: in before out", "abc", "abd", "[{a b c} {a b c d} {a b d} {a b d}]", well, true},
		{"a dead one is replaced: out before in", "abc", "abd", "[{a b c} {a b} {a b d} {a b d}]", func(c *Config) View {
			return View{Ready: c.Present(), Dead: protocol.NewSet(2)}
		}, true},
		{"all are replaced", "abc", "def", "[{a b c} {a b c d} {a b c d e} {a b c d e f} {b c d e f} {c d e f} {d e f} {d e f}]", well, true},
		{"a newcomer that is not up", "abc", "abcd", "[{a b c}]", func(c *Config) View { return View{Ready: protocol.NewSet(0, 1, 2)} }, false},
		{"one to three, the third is not up", "a", "abc", "[{a}]", func(c *Config) View { return View{Ready: protocol.NewSet(0, 1)} }, false},
		{"a leaving one that leads", "abc", "ab", "[{a b c}]", func(c *Config) View { return View{Ready: c.Present(), Leading: protocol.NewSet(2)} }, false},
	} {
		path, last := walk(t, conf(0, x.from), goal(x.to), x.view)
		if got := fmt.Sprint(path); got != x.path || (last.Goal == nil) != x.over {
			t.Errorf("%s: %s, over %v; want %s", x.name, got, last.Goal == nil, x.path)
		}
		if x.over && last.Present() != conf(0, x.to).Present() {
			t.Errorf("%s: %v are left", x.name, last.Present())
		}
	}
}

// The same name on another host: the member before goes first, because names are unique.
func TestSameNameOnAnotherHost(t *testing.T) {
	c := conf(0, "abc")
	g := goal("abc")
	g.Wishes[2].Not = Birth{'c'}
	_, last := walk(t, c, g, well)
	if m := last.Named("c"); last.Goal != nil || m == nil || m.Birth == (Birth{'c'}) || m.Role != Leader {
		t.Errorf("%+v", last)
	}
}

func TestCancelledChangeLeavesNoGuests(t *testing.T) {
	c := conf(0, "ab")
	g := goal("acd")
	view := View{Ready: protocol.NewSet(0, 1, 2)}
	n := c.Begin(g, &view, func(name string) Birth { return Birth{name[0]} })
	n = n.Next(&view, nil)
	n = n.Cancel("cancelled at a")
	if got := fmt.Sprint(n.Voters(), n.Present()); got != "{a b c} {a b c}" || n.Goal != nil {
		t.Errorf("%s: %+v", got, n)
	}
}

// R11-4: a leaving member that leads a group which no other member wants is waited for, but not without end.
func TestLeavingMemberThatLeadsIsWaitedForAWhile(t *testing.T) {
	c := step(conf(3, "abc"), nil)
	c.Goal = goal("ab")
	a := start(t, "a", settledAt(c, "a"))
	a.m.opt.HandOver = 20 * time.Second
	leads := func() *Config {
		for _, r := range "bc" {
			a.get(r, &Carry{Number: 4, Waited: true, Settled: true, Leads: 1})
		}
		return a.m.value()
	}
	a.pass(a.m.opt.Patience)
	if leads() != nil {
		t.Error("R11-4: it is not waited for")
	}
	a.pass(20*time.Second - a.m.opt.Patience)
	if n := leads(); n == nil || n.At(2).Role != Observer {
		t.Error("R11-4: it is waited for without end")
	}
}

// R11-4: before a change nobody repeats how many groups it leads. So a voter that is heard keeps its vote in the first step, and in the next
// one until it has said that it leads nothing. The wait begins with the change, however long ago the council settled.
func TestLeavingMemberKeepsItsVoteUntilItSaysThatItLeadsNothing(t *testing.T) {
	a := start(t, "a", settledAt(conf(4, "abc"), "a"))
	a.pass(a.m.opt.Patience)
	begin := func() *Config {
		t.Helper()
		a.m.want = &Change{Goal: goal("ab")}
		n := a.m.value()
		if n == nil || n.Goal == nil && n.Named("c") != nil {
			t.Fatalf("the change does not begin: %v", n)
		}
		return n
	}
	for _, r := range "bc" {
		a.get(r, &Carry{Number: 4, Waited: true, Settled: true}) // left over from before
	}
	first := begin()
	if first.At(2).Role != Leader {
		t.Error("R11-4: a voter that may lead loses its vote in the first step")
	}
	a.pass(a.m.opt.Quiet + 1)
	if begin().At(2).Role != Observer {
		t.Error("R11-4: one that is silent is waited for")
	}

	first.Number, first.Before = 5, first.Voters()
	a = start(t, "a", settledAt(first, "a"))
	a.get('b', &Carry{Number: 5, Waited: true, Settled: true})
	if n := a.m.value(); n != nil {
		t.Errorf("R11-4: a voter that has not said what it leads loses its vote: %v", n)
	}
	a.get('c', &Carry{Number: 5, Waited: true, Settled: true})
	if n := a.m.value(); n == nil || n.At(2).Role != Observer {
		t.Error("R11-4: one that leads nothing is waited for")
	}
}

func TestOneChangeAtATime(t *testing.T) {
	c := conf(4, "abc")
	c.Goal = goal("abcd")
	a := start(t, "a", settledAt(c, "a"))
	if err := a.m.Change(a.now, Change{Goal: goal("ab")}); err != ErrChanging {
		t.Errorf("R3: %v", err)
	}
	if err := a.m.Change(a.now, Change{Goal: goal("abcd")}); err != nil {
		t.Errorf("the same change: %v", err)
	}
	if err := a.m.Change(a.now, Change{}); err != nil {
		t.Errorf("cancel: %v", err)
	}
	b := start(t, "b", settledAt(conf(4, "abc"), "b"))
	if err := b.m.Change(b.now, Change{}); err != ErrUnchanged {
		t.Errorf("cancel of nothing: %v", err)
	}
	if err := b.m.Change(b.now, Change{Goal: goal("ab"), Number: 3}); err == nil {
		t.Error("another number was seen")
	}
	if err := b.m.Change(b.now, Change{Goal: &Goal{}}); err == nil {
		t.Error("nobody may lead")
	}
}

// R4: a change goes on though the member that was asked for it is gone.
func TestAnyMemberFinishesAChange(t *testing.T) {
	c := conf(4, "abc")
	c.Goal = goal("ab")
	b := start(t, "b", settledAt(c, "b"))
	b.get('a', &Carry{Number: 4, Settled: true})
	b.get('c', &Carry{Number: 4, Settled: true})
	b.pass(0)
	if _, _, ok := sent[*Prepare](b); ok {
		t.Error("it does not leave the first turn to a")
	}
	b.pass(4 * trip)
	if _, _, ok := sent[*Prepare](b); !ok {
		t.Error("R4: it does not propose")
	}
}

// D fixed: a member that keeps no record objects before a change begins. Without that it would be left behind.
func TestChangeWaitsForObjections(t *testing.T) {
	c := conf(4, "abc")
	ask := func() (*node, Ballot) {
		a := start(t, "a", settledAt(c, "a"))
		a.get('c', &Carry{Number: 4, Settled: true})
		g := Goal{Terms: c.Terms}
		for _, name := range []string{"a", "b", "c", "d"} {
			g.Wishes = append(g.Wishes, Wish{Name: name, Role: Leader, Seat: protocol.Nobody})
		}
		if err := a.m.Change(a.now, Change{Goal: &g}); err != nil {
			t.Fatal(err)
		}
		a.pass(0)
		p, _, ok := sent[*Prepare](a)
		if !ok {
			t.Fatal("it does not propose")
		}
		a.get('a', &Promise{Slot: 5, Ballot: p.Ballot})
		a.get('b', &Promise{Slot: 5, Ballot: p.Ballot})
		if _, _, ok := sent[*Accept](a); ok {
			t.Fatal("D fixed: c is heard, and has had no time to object")
		}
		return a, p.Ballot
	}
	a, b := ask()
	a.get('c', &Refused{Slot: 5, Ballot: b, Fixed: true})
	a.pass(time.Second)
	if _, _, ok := sent[*Accept](a); ok || a.m.Wants() || a.m.Fixed() != protocol.NewSet(2) {
		t.Errorf("D fixed: it goes on without c, which cannot follow: %v", a.m.Fixed())
	}
	a, _ = ask()
	a.pass(4 * trip)
	if _, _, ok := sent[*Accept](a); !ok {
		t.Error("it waits for c for ever")
	}
}
