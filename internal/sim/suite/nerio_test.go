package suite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/check"
	"github.com/regentproject/regent/internal/sim/suite"
)

func lookup(t *testing.T, name string) *suite.Protocol {
	t.Helper()
	p, err := suite.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// council returns a world of three members that lead by themselves, with programs that act all the time, and its
// checkers.
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
	return w, check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(3), Longest: time.Second, Seed: 1,
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
