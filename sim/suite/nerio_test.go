package suite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

func lookup(t *testing.T, name string) *suite.Protocol {
	t.Helper()
	p, err := suite.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// council returns a world of three members, unless it is changed, that lead by themselves, with programs that act all the
// time, and its checkers.
func council(t *testing.T, p *suite.Protocol, change func(*sim.Config)) (*sim.World, []check.Checker) {
	t.Helper()
	c := sim.Config{
		Members: 3, Seed: 7, Spawn: p.Spawn, Groups: p.Groups[:1],
		Link:    sim.Link{Delay: sim.Between(time.Millisecond, 3*time.Millisecond)},
		Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 3*time.Millisecond), Again: sim.Between(1, 20*time.Millisecond)},
	}
	p.Configure(&c)
	if change != nil {
		change(&c)
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w, check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(c.Members), Longest: time.Second, Seed: 1,
		Travel: sim.Between(0, 50*time.Millisecond)})
}

// named returns the checker of that name.
func named(t *testing.T, all []check.Checker, name string) check.Checker {
	t.Helper()
	for _, c := range all {
		if c.Name() == name {
			return c
		}
	}
	t.Fatalf("no checker %s", name)
	return nil
}

// violated returns which invariant err is about.
func violated(err error) string {
	var v *check.Violation
	if errors.As(err, &v) {
		return v.Name
	}
	return ""
}

// A virtual machine is stopped from outside, with its clock, for much longer than a lease. When it goes on it finds that
// its lease has still some time to run: two leaders. No lease can help there; the token does.
func TestAStoppedClockMakesTwoLeadersAndTheTokenHolds(t *testing.T) {
	p := lookup(t, "nerio")
	halt := func(w *sim.World) error {
		if err := w.Run(sim.Real(2 * time.Second)); err != nil {
			return err
		}
		w.Begin(sim.Fault{Kind: sim.Halt, A: sim.TheLeader, B: protocol.Nobody, For: time.Second})
		return w.Run(sim.Real(5 * time.Second))
	}
	w, all := council(t, p, nil)
	w.Observe(named(t, all, "N-LU"))
	if got := violated(halt(w)); got != "N-LU" {
		t.Errorf("N-LU does not see two leaders: %q", got)
	}
	w, all = council(t, p, nil)
	r := named(t, all, "N-TOK (resource)").(*check.Resource)
	w.Observe(r)
	if err := errors.Join(halt(w), r.Finish()); err != nil {
		t.Errorf("the token does not hold: %v", err)
	}
	if r.Stale == 0 || r.Carried == 0 {
		t.Errorf("%d orders carried out, %d refused: nothing was shown", r.Carried, r.Stale)
	}
}

// The test of the test: a leader whose clock runs slower than the protocol was promised, and voters whose clocks run faster.
// The leader is cut off and another is elected while it still believes in its lease. What a resource carries out still
// never goes back.
func TestRatesBeyondTheBoundMakeTwoLeadersAndTheTokenHolds(t *testing.T) {
	p := lookup(t, "nerio")
	for _, c := range []struct {
		name string
		rate int64
		want string
	}{
		{"at the bound", int64(protocol.DefaultRho), ""},
		{"beyond it", 300 * int64(protocol.DefaultRho), "N-LU"},
	} {
		far := func(cfg *sim.Config) {
			cfg.Clocks = []sim.ClockSpec{{Rate: -c.rate}, {Rate: c.rate}, {Rate: c.rate}}
		}
		cut := func(w *sim.World) error {
			w.Schedule(
				sim.Fault{At: sim.Real(time.Second), Kind: sim.Resign, A: 1, Group: p.Groups[0]},
				sim.Fault{At: sim.Real(time.Second), Kind: sim.Resign, A: 2, Group: p.Groups[0]},
				sim.Fault{At: sim.Real(2 * time.Second), Kind: sim.Campaign, A: 1, Group: p.Groups[0]},
				sim.Fault{At: sim.Real(2 * time.Second), Kind: sim.Partition, A: protocol.Nobody, B: protocol.Nobody, Side: protocol.NewSet(0)})
			return w.Run(sim.Real(4 * time.Second))
		}
		w, all := council(t, p, far)
		w.Observe(named(t, all, "N-LU"))
		if got := violated(cut(w)); got != c.want {
			t.Errorf("%s: violated %q, want %q", c.name, got, c.want)
		}
		w, all = council(t, p, far)
		r := named(t, all, "N-TOK (resource)")
		w.Observe(r)
		if err := errors.Join(cut(w), r.Finish()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A restored backup speaks under an incarnation that the others have seen the end of. They tell it so before it can
// vote, and it recovers as if it had no record.
func TestARestoredBackupIsFoundOutBeforeItVotes(t *testing.T) {
	p := lookup(t, "nerio")
	w, all := council(t, p, nil)
	for _, c := range all {
		w.Observe(c)
	}
	w.Observe(watchFor(t, p, w, suite.BackupFound))
	for i := range 6 {
		at := sim.Real(time.Duration(2+2*i) * time.Second)
		disk := sim.Kept
		if i%2 == 1 {
			disk = sim.Backup
		}
		w.Schedule(sim.Fault{At: at, Kind: sim.Crash, A: 1, B: protocol.Nobody, For: 50 * time.Millisecond, Disk: disk, Amount: 3})
	}
	if err := w.Run(sim.Real(16 * time.Second)); err != nil {
		t.Error(err)
	}
}

// few returns n in a long run, fewer usually, and one under the race detector.
func few(n uint64) uint64 { return effort.Pick(1, max(1, n/2), n) }

// With four members a cut may leave two on each side, with three one restart is half of what is left, with seven there is
// always somebody else to ask. The slice of every protocol has five.
func TestQuorumLeasesSurviveASliceOfSeedsWithAnyNumberOfMembers(t *testing.T) {
	for _, name := range []string{"nerio", "stack"} {
		for _, n := range []int{1, 2, 3, 4, 7} {
			p := lookup(t, name)
			r, err := fuzz.Range(context.Background(), p, fuzz.Options{Members: n, First: 1, Last: few(8), For: fuzz.DefaultFor})
			if err != nil {
				t.Fatal(err)
			}
			if r.Failure != nil {
				t.Errorf("%s, %d members: seed %d: %v", name, n, r.Failure.Seed, r.Failure.Err)
			}
		}
	}
}

// An elector that changes its mind every few milliseconds, at every member, decides nothing but who tries when.
func TestAnElectorThatSaysAnythingBreaksNothing(t *testing.T) {
	p := lookup(t, "nerio")
	p.Vary = func(c *sim.Config) {
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			return suite.Unstable(b, sim.Between(100*time.Microsecond, 20*time.Millisecond))
		}
	}
	r, err := fuzz.Range(context.Background(), p, fuzz.Options{Members: 5, First: 1, Last: few(20), For: fuzz.DefaultFor})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failure != nil {
		t.Errorf("seed %d: %v", r.Failure.Seed, r.Failure.Err)
	}
}

// survive lets the faults happen, with all checkers watching, and wants nothing to break and the row to be covered.
func survive(t *testing.T, p *suite.Protocol, change func(*sim.Config), until time.Duration, row string, faults ...sim.Fault) {
	t.Helper()
	w, all := council(t, p, change)
	for _, c := range all {
		w.Observe(c)
	}
	w.Observe(watchFor(t, p, w, row))
	w.Schedule(faults...)
	err := w.Run(sim.Real(until))
	for _, c := range all {
		err = errors.Join(err, c.Finish())
	}
	if err != nil {
		t.Error(err)
	}
}

func at(ms int) sim.Real { return sim.Real(time.Duration(ms) * time.Millisecond) }

// apart keeps two members from talking to each other from then on.
func apart(from sim.Real, a, b protocol.Rank) []sim.Fault {
	return []sim.Fault{{At: from, Kind: sim.Cut, A: a, B: b}, {At: from, Kind: sim.Cut, A: b, B: a}}
}

// Two candidates that cannot talk to each other share one voter, which leaves in good order, comes back, and from then on
// crashes again and again. The note of its clean stop spares it one wait; if it were believed again, it would grant to one
// what it had granted to the other.
func TestACleanStopIsBelievedOnce(t *testing.T) {
	p := lookup(t, "nerio")
	const shared = 1
	faults := append(apart(at(1000), 0, 2), sim.Fault{At: at(1500), Kind: sim.Resign, A: shared, B: protocol.Nobody, Group: p.Groups[0]},
		sim.Fault{At: at(2000), Kind: sim.Leave, A: shared, B: protocol.Nobody, For: time.Second, Amount: int64(900 * time.Millisecond)})
	for i := range 40 {
		faults = append(faults, sim.Fault{At: at(4000 + 400*i), Kind: sim.Crash, A: shared, B: protocol.Nobody, For: 3 * time.Millisecond})
	}
	survive(t, p, nil, 22*time.Second, suite.CleanStart, faults...)
}

// The shared voter leaves again and again, and comes back much sooner than what it granted has run out.
func TestACleanStopIsNotedOnlyWhenNothingStands(t *testing.T) {
	p := lookup(t, "nerio")
	const shared = 1
	faults := apart(at(1000), 0, 2)
	for i := range 40 {
		faults = append(faults, sim.Fault{At: at(2000 + 500*i), Kind: sim.Leave, A: shared, B: protocol.Nobody,
			For: 40 * time.Millisecond, Amount: int64(300 * time.Millisecond)})
	}
	survive(t, p, nil, 23*time.Second, suite.LeaseLapsed, faults...)
}

// Of five members three have led each other for a while; one of them loses its record and comes back among the other two,
// who know nothing. It must not believe them: what it has forgotten are the tokens of the first three.
func TestARecoveringMemberAsksEnoughOthers(t *testing.T) {
	p := lookup(t, "nerio")
	five := func(c *sim.Config) { c.Members, c.Program.Again = 5, sim.Delay{} }
	ask := func(kind sim.Kind, ms int, who ...protocol.Rank) (f []sim.Fault) {
		for _, r := range who {
			f = append(f, sim.Fault{At: at(ms), Kind: kind, A: r, B: protocol.Nobody, Group: p.Groups[0]})
		}
		return f
	}
	cut := func(ms int, length time.Duration, side ...protocol.Rank) sim.Fault {
		return sim.Fault{At: at(ms), Kind: sim.Partition, A: protocol.Nobody, B: protocol.Nobody, Side: protocol.NewSet(side...), For: length}
	}
	faults := append(ask(sim.Resign, 1000, 2, 3), cut(1500, 6*time.Second, 2, 3), cut(7500, 4*time.Second, 0, 1),
		sim.Fault{At: at(7490), Kind: sim.Crash, A: 4, B: protocol.Nobody, For: 20 * time.Millisecond, Disk: sim.Lost})
	for i := range 10 {
		faults = append(faults, ask(sim.Resign, 2000+500*i, sim.TheLeader)...)
		faults = append(faults, ask(sim.Campaign, 2100+500*i, 0, 1, 4)...)
	}
	faults = append(faults, ask(sim.Campaign, 8000, 2, 3)...)
	survive(t, p, five, 16*time.Second, suite.Recovered, faults...)
}

// watchFor returns an observer that fails the test if the row is not covered.
func watchFor(t *testing.T, p *suite.Protocol, w *sim.World, row string) sim.Observer {
	t.Helper()
	hit := false
	t.Cleanup(func() {
		if !hit {
			t.Errorf("%q did not happen", row)
		}
	})
	return p.Watch(w, func(r string) { hit = hit || r == row })
}
