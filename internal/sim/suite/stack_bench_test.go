package suite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/suite"
)

// A chamber is a council with one group, and who leads it.
type chamber struct {
	*sim.World
	leader protocol.Rank
	began  sim.Real
}

func (c *chamber) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvLease:
		if r.Why == "" {
			c.leader, c.began = r.Node, r.T
		}
	case protocol.EvStepdown:
		if c.leader == r.Node {
			c.leader = protocol.Nobody
		}
	}
	return nil
}

func (c *chamber) pass(tb testing.TB, d time.Duration) {
	tb.Helper()
	if err := c.Run(c.Now().Add(d)); err != nil {
		tb.Fatal(err)
	}
}

// newChamber returns a council over an elector, on links that take up to 5ms, with late timers and clocks at the bounds of
// their drift, in which somebody has led for a while.
func newChamber(tb testing.TB, elector string, n int, seed uint64) *chamber {
	tb.Helper()
	p, err := suite.Lookup("stack " + elector)
	if err != nil {
		tb.Fatal(err)
	}
	clocks := make([]sim.ClockSpec, n)
	for i := range clocks {
		clocks[i].Rate = int64(protocol.DefaultRho) * int64(i%3-1)
	}
	w, err := sim.New(sim.Config{Members: n, Seed: seed, Spawn: p.Spawn, Link: sim.Link{Delay: sim.Between(100*time.Microsecond, 5*time.Millisecond)},
		Timer: sim.Between(0, 2*time.Millisecond), Clocks: clocks, Bound: sim.Bound{Slack: sim.Between(0, 5*time.Millisecond)},
		Groups: []protocol.Group{"g"}, Program: sim.ProgramSpec{Stop: sim.Between(0, time.Millisecond), Again: sim.Between(time.Millisecond, 5*time.Millisecond)}})
	if err != nil {
		tb.Fatal(err)
	}
	c := &chamber{World: w, leader: protocol.Nobody}
	w.Observe(c)
	for range 100 {
		if c.pass(tb, 100*time.Millisecond); c.leader != protocol.Nobody {
			break
		}
	}
	if c.leader == protocol.Nobody {
		tb.Fatalf("%s, %d members: nobody leads after 10s", elector, n)
	}
	// Fail-overs begin at any point of the renewal interval.
	c.pass(tb, 3*time.Second+w.Dice().Between(0, 100*time.Millisecond))
	return c
}

// A blow is a way in which a council loses its leader.
type blow struct {
	name   string
	strike func(c *chamber, leader protocol.Rank)
}

var blows = []blow{
	{"crash", func(c *chamber, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Crash, A: leader, B: protocol.Nobody})
	}},
	{"crash-of-two", func(c *chamber, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Crash, A: leader, B: protocol.Nobody})
		c.Begin(sim.Fault{Kind: sim.Crash, A: (leader + 1) % protocol.Rank(c.Members()), B: protocol.Nobody})
	}},
	{"deaf", func(c *chamber, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Cut, A: protocol.Nobody, B: leader})
	}},
	{"ill", func(c *chamber, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Ill, A: leader, B: protocol.Nobody})
	}},
}

// replaced returns how long it takes from the blow until another member leads.
func replaced(tb testing.TB, elector string, n int, seed uint64, b *blow) time.Duration {
	tb.Helper()
	c := newChamber(tb, elector, n, seed)
	from, leader := c.Now(), c.leader
	b.strike(c, leader)
	for range 1000 {
		if c.pass(tb, 10*time.Millisecond); c.leader != leader && c.leader != protocol.Nobody {
			return c.began.Sub(from)
		}
	}
	tb.Fatalf("%s, %d members, seed %d: nobody leads 10s after the %s", elector, n, seed, b.name)
	return 0
}

// BenchmarkFailover measures how long a group of a quorum council is without a leader that acts, by elector and by how the
// leader was lost.
func BenchmarkFailover(b *testing.B) {
	for _, e := range suite.Electors() {
		for i := range blows {
			b.Run(fmt.Sprintf("%s/%s", e, blows[i].name), func(b *testing.B) {
				var all []float64
				for k := range b.N {
					all = append(all, float64(replaced(b, e, 5, uint64(k), &blows[i]))/float64(time.Millisecond))
				}
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], "ms-p50")
				b.ReportMetric(all[len(all)*99/100], "ms-p99")
				b.ReportMetric(all[len(all)-1], "ms-max")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// A lease of 200ms, of which the voters' clocks may make a little more, and some attempts that meet.
func TestEveryElectorFailsOverWithinALeaseAndALittle(t *testing.T) {
	for _, e := range suite.Electors() {
		for i := range blows {
			for seed := range few(5) {
				limit := 500 * time.Millisecond
				if blows[i].name == "ill" {
					limit = 50 * time.Millisecond
				}
				if took := replaced(t, e, 5, seed, &blows[i]); took > limit {
					t.Errorf("%s, %s, seed %d: it took %v, want at most %v", e, blows[i].name, seed, took, limit)
				}
			}
		}
	}
}

// The bound is the one that `regent config check` prints. What it printed once, a lease and a round trip, is none.
func TestDeadLeadersAreReplacedWithinTheBound(t *testing.T) {
	var worst time.Duration
	for _, n := range []int{3, 5, 7} {
		cfg := suite.NerioConfig(sim.Boot{Members: n})
		for _, e := range suite.Electors() {
			for i := range blows[:min(2, (n-1)/2)] {
				for seed := range few(5) {
					took := replaced(t, e, n, seed, &blows[i])
					if worst = max(worst, took); took > cfg.FailOver() {
						t.Errorf("%s, %s of %d, seed %d: it took %v, want at most %v", e, blows[i].name, n, seed, took, cfg.FailOver())
					}
				}
			}
		}
	}
	cfg := suite.NerioConfig(sim.Boot{Members: 3})
	if least := cfg.Lease + cfg.RoundTrip; worst <= least && few(5) > 1 {
		t.Errorf("none took longer than %v: this proves nothing", least)
	}
}
