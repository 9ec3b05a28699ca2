package sim_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// spawnRank makes machines of the plain elector.
func spawnRank(b sim.Boot) (protocol.Machine, error) {
	return rank.New(rank.Default(b.Self, b.Members, b.Inc))
}

func newWorld(t testing.TB, c sim.Config) *sim.World {
	t.Helper()
	if c.Spawn == nil {
		c.Spawn = spawnRank
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func run(t testing.TB, w *sim.World, until time.Duration) {
	t.Helper()
	if err := w.Run(sim.Real(until)); err != nil {
		t.Fatal(err)
	}
}

// leader returns whom a member's only view names.
func leader(t testing.TB, w *sim.World, r protocol.Rank) protocol.Rank {
	t.Helper()
	v := w.Views(r)
	if len(v) != 1 {
		t.Fatalf("%v has %d views, want 1", r, len(v))
	}
	return v[0].Leader.Rank
}

func TestMembersAgreeThenReplaceACrashedLeader(t *testing.T) {
	w := newWorld(t, sim.Config{Members: 5, Seed: 1})
	run(t, w, time.Second)
	for r := range protocol.Rank(5) {
		if got := leader(t, w, r); got != 0 {
			t.Errorf("%v trusts %v, want a", r, got)
		}
	}
	w.Begin(sim.Fault{Kind: sim.Crash, A: 0})
	run(t, w, 2*time.Second)
	for r := protocol.Rank(1); r < 5; r++ {
		if got := leader(t, w, r); got != 1 {
			t.Errorf("%v trusts %v, want b", r, got)
		}
	}
	if w.Up(0) || len(w.Views(0)) != 0 {
		t.Error("a crashed member is up or has views")
	}
}

// The promise is a million events a second on one core, with the checkers of rank and the coverage on.
func BenchmarkFiveMembersOfRank(b *testing.B) {
	p, err := suite.Lookup("rank")
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, sim.Config{
		Members: 5, Seed: 1, Spawn: p.Spawn, Timer: sim.Between(0, time.Millisecond),
		Link: sim.Link{Delay: sim.Between(time.Millisecond, 20*time.Millisecond), Loss: sim.Percent(1), Duplicate: sim.Percent(1)},
	})
	for _, c := range p.Checkers(w) {
		w.Observe(c)
	}
	w.Observe(suite.NewCover(p, w))
	b.ReportAllocs()
	step := 100 * time.Millisecond
	for at := step; w.Stats().Events < uint64(b.N); at += step {
		run(b, w, at)
	}
	b.ReportMetric(float64(w.Stats().Events)/b.Elapsed().Seconds(), "events/s")
}
