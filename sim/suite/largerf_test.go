package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// TestMoreThanOneMayBeDown runs councils of seven with f of 2 and 3: with everybody up, and with f members down, the leader
// among them, over links that keep what each elector assumes.
func TestMoreThanOneMayBeDown(t *testing.T) {
	for _, name := range family {
		for f, option := range map[int]string{2: "f=2", 3: "f=3"} {
			p := tuned(t, name, option)
			for seed := range uint64(2) {
				core := protocol.Everyone(7)
				if seed%2 == 0 {
					for r := range protocol.Rank(f) {
						core.Remove(r)
					}
				}
				w, err := sim.New(sim.Config{Members: 7, Seed: seed, Spawn: p.Spawn})
				if err != nil {
					t.Fatal(err)
				}
				checkers := []check.Checker{check.NewEventual(w, 40*time.Second), check.NewCounts(w, 40*time.Second, tables(name)...)}
				for _, c := range checkers {
					w.Observe(c)
				}
				if err := w.Run(sim.Real(3 * time.Second)); err != nil {
					t.Fatal(err)
				}
				for r := range protocol.Everyone(7).Minus(core).All() {
					w.Begin(sim.Fault{Kind: sim.Crash, A: r, B: protocol.Nobody})
				}
				links := suite.InOrder(sim.NewDice(seed, 1), 7, core, 7-core.Len(), 40*ms, 0)
				if name == "fsource" {
					links = suite.FromSource(6, protocol.NewSet(3, 4, 5), core.Without(6), 500*ms)
				}
				w.Relink(links)
				w.Phase(sim.Liveness, core)
				err = w.Run(sim.Real(50 * time.Second))
				for _, c := range checkers {
					if err == nil {
						err = c.Finish()
					}
				}
				if err != nil {
					t.Errorf("%s, f = %d, core %v, seed %d: %v", name, f, core, seed, err)
				}
			}
		}
	}
}

// tables names the tables of an elector's counters.
func tables(name string) []string {
	switch name {
	case "timefree":
		return []string{"query"}
	case "fsource":
		return []string{"alive"}
	}
	return []string{"query", "alive"}
}
