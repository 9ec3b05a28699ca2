package lab_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// round is the period of queries and signs of life of the electors as they are by default.
const round = 50 * time.Millisecond

// settle runs the world until so many are up and agree on a leader that is up, and returns how many rounds that took.
func settle(b *testing.B, w *sim.World, want int) float64 {
	b.Helper()
	from := w.Now()
	for w.Now().Sub(from) < time.Minute {
		if err := w.Run(w.Now().Add(time.Millisecond)); err != nil {
			b.Fatal(err)
		}
		leader, agreed, up := protocol.Nobody, true, 0
		for r := range protocol.Rank(w.Members()) {
			if !w.Up(r) {
				continue
			}
			up++
			v := w.Views(r)
			if len(v) == 0 || v[0].Leader.Rank == protocol.Nobody || !w.Up(v[0].Leader.Rank) || leader != protocol.Nobody && v[0].Leader.Rank != leader {
				agreed = false
				break
			}
			leader = v[0].Leader.Rank
		}
		if agreed && up == want {
			return float64(w.Now().Sub(from)) / float64(round)
		}
	}
	b.Fatal("they do not agree within a minute")
	return 0
}

// BenchmarkConvergence starts a council and lets its leader crash, on a local network. It reports how many rounds it takes
// until all agree after the start and after the crash, and how many messages a round costs in between.
func BenchmarkConvergence(b *testing.B) {
	for _, name := range []string{"timefree", "fsource", "hybrid"} {
		for _, n := range []int{5, 20, 100} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p, err := suite.Lookup(name)
				if err != nil {
					b.Fatal(err)
				}
				var started, deposed, messages float64
				for i := range b.N {
					w, err := sim.New(sim.Config{Members: n, Seed: uint64(i), Spawn: p.Spawn, Stagger: sim.Between(0, round),
						Link: sim.Link{Delay: sim.Between(200*time.Microsecond, time.Millisecond)}})
					if err != nil {
						b.Fatal(err)
					}
					started += settle(b, w, n)
					before := w.Stats().Sent
					if err := w.Run(w.Now().Add(10 * round)); err != nil {
						b.Fatal(err)
					}
					messages += float64(w.Stats().Sent-before) / 10
					w.Begin(sim.Fault{Kind: sim.Crash, A: w.Views(0)[0].Leader.Rank, B: protocol.Nobody})
					deposed += settle(b, w, n-1)
				}
				b.ReportMetric(started/float64(b.N), "rounds/start")
				b.ReportMetric(deposed/float64(b.N), "rounds/crash")
				b.ReportMetric(messages/float64(b.N), "messages/round")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
