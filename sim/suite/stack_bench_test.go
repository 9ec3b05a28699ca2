package suite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// A benchCouncil is a council with one group, and who leads it.
type benchCouncil struct {
	*sim.World
	leader protocol.Rank
	began  sim.Real
}

func (c *benchCouncil) Observe(r *sim.Record) error {
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

func (c *benchCouncil) pass(tb testing.TB, d time.Duration) {
	tb.Helper()
	if err := c.Run(c.Now().Add(d)); err != nil {
		tb.Fatal(err)
	}
}

// A setting is an elector under quorum leases, with the links and the timers of its members.
type setting struct {
	name       string
	spawn      sim.Spawn
	link, late sim.Delay
	// authority is the configuration of a member's quorum leases.
	authority func(b sim.Boot) nerio.Config
}

// bound is how long a council of so many members is without a leader after a crash, at most.
func (s *setting) bound(members int) time.Duration {
	c := s.authority(sim.Boot{Members: members})
	return c.FailOver()
}

// simulated returns a setting at the pace of the simulator's random runs.
func simulated(tb testing.TB, elector string) *setting {
	tb.Helper()
	p, err := suite.Lookup("stack " + elector)
	if err != nil {
		tb.Fatal(err)
	}
	return &setting{name: elector, spawn: p.Spawn, link: lan.link, late: lan.late, authority: suite.NerioConfig}
}

// newBench returns a council in which somebody has led for a while, with clocks at the bounds of their drift.
func newBench(tb testing.TB, s *setting, n int, seed uint64) *benchCouncil {
	tb.Helper()
	clocks := make([]sim.ClockSpec, n)
	for i := range clocks {
		clocks[i].Rate = int64(protocol.DefaultRho) * int64(i%3-1)
	}
	w, err := sim.New(sim.Config{Members: n, Seed: seed, Spawn: s.spawn, Link: sim.Link{Delay: s.link}, Timer: s.late, Clocks: clocks,
		Bound: sim.Bound{Slack: s.link}, Groups: []protocol.Group{"g"},
		Program: sim.ProgramSpec{Stop: sim.Between(0, time.Millisecond), Again: sim.Between(time.Millisecond, 5*time.Millisecond)}})
	if err != nil {
		tb.Fatal(err)
	}
	c := &benchCouncil{World: w, leader: protocol.Nobody}
	w.Observe(c)
	for range 100 {
		if c.pass(tb, 100*time.Millisecond); c.leader != protocol.Nobody {
			break
		}
	}
	if c.leader == protocol.Nobody {
		tb.Fatalf("%s, %d members: nobody leads after 10s", s.name, n)
	}
	// Fail-overs begin at any point of the renewal interval, and of the elector's period.
	c.pass(tb, 3*time.Second+w.Dice().Between(0, time.Second))
	return c
}

// A blow is a way in which a council loses its leader.
type blow struct {
	name   string
	strike func(c *benchCouncil, leader protocol.Rank)
}

var blows = []blow{
	{"crash", func(c *benchCouncil, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Crash, A: leader, B: protocol.Nobody})
	}},
	{"crash-of-two", func(c *benchCouncil, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Crash, A: leader, B: protocol.Nobody})
		c.Begin(sim.Fault{Kind: sim.Crash, A: (leader + 1) % protocol.Rank(c.Members()), B: protocol.Nobody})
	}},
	{"deaf", func(c *benchCouncil, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Cut, A: protocol.Nobody, B: leader})
	}},
	{"ill", func(c *benchCouncil, leader protocol.Rank) {
		c.Begin(sim.Fault{Kind: sim.Ill, A: leader, B: protocol.Nobody})
	}},
}

// replaced returns how long it takes from the blow until another member leads.
func replaced(tb testing.TB, s *setting, n int, seed uint64, b *blow) time.Duration {
	tb.Helper()
	c := newBench(tb, s, n, seed)
	from, leader := c.Now(), c.leader
	b.strike(c, leader)
	for range 1000 {
		if c.pass(tb, 10*time.Millisecond); c.leader != leader && c.leader != protocol.Nobody {
			return c.began.Sub(from)
		}
	}
	tb.Fatalf("%s, %d members, seed %d: nobody leads 10s after the %s", s.name, n, seed, b.name)
	return 0
}

// BenchmarkFailover measures how long a group of a quorum council is without a leader that acts, by elector and by how the
// leader was lost: at the pace of the simulator's random runs, and of the library's profiles.
func BenchmarkFailover(b *testing.B) {
	for _, s := range settings(b) {
		for i := range blows {
			b.Run(fmt.Sprintf("%s/%s", s.name, blows[i].name), func(b *testing.B) {
				distribute(b, "ms", func(seed uint64) float64 {
					return float64(replaced(b, s, 5, seed, &blows[i])) / float64(time.Millisecond)
				})
			})
		}
	}
}

// settings lists every elector at every pace.
func settings(tb testing.TB) []*setting {
	tb.Helper()
	var all []*setting
	for _, e := range suite.Electors() {
		all = append(all, simulated(tb, e))
	}
	for _, p := range []*profile{&lan, &fast} {
		for _, e := range libraryElectors {
			all = append(all, p.setting(e))
		}
	}
	return all
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
				if took := replaced(t, simulated(t, e), 5, seed, &blows[i]); took > limit {
					t.Errorf("%s, %s, seed %d: it took %v, want at most %v", e, blows[i].name, seed, took, limit)
				}
			}
		}
	}
}

// The bound is the one that `regent config check` prints, and is the same under every elector: nobody waits for an elector to notice
// anything. What it printed once, a lease and a round trip, is none. A leader that hears nobody gives its lease up before the others'
// promises end; that it tries again does not keep the others from leading within the bound.
func TestLostLeadersAreReplacedWithinTheBound(t *testing.T) {
	beyond := 0
	for _, s := range settings(t) {
		for _, n := range []int{3, 5} {
			for i := range blows {
				b := &blows[i]
				if b.name == "ill" || b.name == "crash-of-two" && n == 3 {
					continue // it hands over; no quorum is left
				}
				for seed := range few(12) {
					took, bound := replaced(t, s, n, seed, b), s.bound(n)
					if c := s.authority(sim.Boot{Members: n}); took > c.Lease+c.RoundTrip {
						beyond++
					}
					if took > bound {
						t.Errorf("%s, %s of %d, seed %d: it took %v, want at most %v", s.name, b.name, n, seed, took, bound)
					}
				}
			}
		}
	}
	if beyond == 0 && few(12) > 1 {
		t.Error("none took longer than a lease and a round trip: this proves nothing")
	}
}
