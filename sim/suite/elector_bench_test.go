package suite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// benchDelta is δ of the simulated stable electors, and their sending period.
const benchDelta = 20 * time.Millisecond

// A crowd is a world of electors, and what they think.
type crowd struct {
	*sim.World
	trusts  []protocol.Ident
	last    []protocol.Rank // the last leader that was somebody
	changes int             // how often a member other than the best-ranked one came to follow another one than before
	sent    map[[2]protocol.Rank]int
}

func (c *crowd) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvWeak:
		c.trusts[r.Node] = r.Peer
		if r.Peer.Rank == protocol.Nobody {
			break
		}
		if c.last[r.Node] != r.Peer.Rank && c.last[r.Node] != protocol.Nobody && r.Node != 0 {
			c.changes++
		}
		c.last[r.Node] = r.Peer.Rank
	case sim.EvSend:
		if r.Node != r.Peer.Rank { // what a member says to itself crosses no link
			c.sent[[2]protocol.Rank{r.Node, r.Peer.Rank}]++
		}
	}
	return nil
}

// newCrowd returns electors on links that take up to 5ms, with late timers and clocks at the bounds of their drift.
func newCrowd(tb testing.TB, n int, seed uint64, messages bool, spawn sim.Spawn) *crowd {
	tb.Helper()
	clocks := make([]sim.ClockSpec, n)
	for i := range clocks {
		clocks[i].Rate = int64(protocol.DefaultRho) * int64(i%3-1)
	}
	w, err := sim.New(sim.Config{Members: n, Seed: seed, Spawn: spawn, Link: sim.Link{Delay: sim.Between(100*time.Microsecond, 5*time.Millisecond)},
		Timer: sim.Between(0, 2*time.Millisecond), Clocks: clocks, Messages: messages,
		Bound: sim.Bound{Slack: sim.Between(0, 5*time.Millisecond)}})
	if err != nil {
		tb.Fatal(err)
	}
	c := &crowd{World: w, sent: map[[2]protocol.Rank]int{}}
	for range n {
		c.trusts, c.last = append(c.trusts, protocol.NoIdent), append(c.last, protocol.Nobody)
	}
	w.Observe(c)
	return c
}

// leader returns whom all that are up trust, if it is up itself.
func (c *crowd) leader() protocol.Rank {
	found := protocol.Nobody
	for r := range c.trusts {
		if !c.Up(protocol.Rank(r)) {
			continue
		}
		if found != protocol.Nobody && found != c.trusts[r].Rank || c.trusts[r].Rank == protocol.Nobody {
			return protocol.Nobody
		}
		found = c.trusts[r].Rank
	}
	if found == protocol.Nobody || !c.Up(found) {
		return protocol.Nobody
	}
	return found
}

// elect lets time pass until there is a leader, and returns how long that took.
func (c *crowd) elect(tb testing.TB) time.Duration {
	tb.Helper()
	from := c.Now()
	for c.leader() == protocol.Nobody {
		if c.Now().Sub(from) > time.Minute {
			tb.Fatal("no leader for a minute")
		}
		if err := c.Run(c.Next()); err != nil {
			tb.Fatal(err)
		}
	}
	return c.Now().Sub(from)
}

func (c *crowd) pass(tb testing.TB, d time.Duration) {
	tb.Helper()
	if err := c.Run(c.Now().Add(d)); err != nil {
		tb.Fatal(err)
	}
}

func stableSpawn(variant string) sim.Spawn {
	return func(b sim.Boot) (protocol.Machine, error) { return stable.New(suite.StableConfig(b, variant)) }
}

// gatedSpawn is the elector of councils: Fig. 5 with a gate, and anybody may lead, unlike in the variant of the random runs.
func gatedSpawn(b sim.Boot) (protocol.Machine, error) {
	c := suite.StableConfig(b, "fig5")
	c.Gate = protocol.Majority(b.Members)
	return stable.New(c)
}

// A contender is an elector with its name.
type contender struct {
	name  string
	spawn sim.Spawn
}

// benchmarked lists the electors that are compared.
var benchmarked = []contender{
	{"fig1", stableSpawn("fig1")}, {"fig2", stableSpawn("fig2")}, {"fig3", stableSpawn("fig3")}, {"fig4", stableSpawn("fig4")},
	{"fig5", stableSpawn("fig5")}, {"gated", gatedSpawn},
	{"rank", func(b sim.Boot) (protocol.Machine, error) { return rank.New(rank.Default(b.Self, b.Members, b.Inc)) }},
	{"ring", func(b sim.Boot) (protocol.Machine, error) { return ring.New(ring.Default(b.Self, b.Members, b.Inc)) }},
}

// priced lists all electors: these, and those that need other links or other periods.
func priced(tb testing.TB) []contender {
	tb.Helper()
	all := slices.Clone(benchmarked)
	for _, name := range []string{"ring phi", "detect", "timefree", "fsource", "hybrid", "hall elector"} {
		p, err := suite.Lookup(name)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, contender{name, p.Spawn})
	}
	return all
}

// failover returns how long it takes to replace a leader that crashes when so many of its successors are dead already.
func failover(tb testing.TB, n, dead int, seed uint64, spawn sim.Spawn) time.Duration {
	c := newCrowd(tb, n, seed, false, spawn)
	c.elect(tb)
	c.pass(tb, time.Second)
	first := c.leader()
	for i := range dead {
		c.Begin(sim.Fault{Kind: sim.Crash, A: protocol.Rank((int(first) + 1 + i) % n), B: protocol.Nobody})
	}
	c.pass(tb, time.Second)
	// At any instant of the leader's period.
	c.pass(tb, c.Dice().Between(0, 2*benchDelta))
	c.elect(tb)
	c.Begin(sim.Fault{Kind: sim.Crash, A: c.leader(), B: protocol.Nobody})
	return c.elect(tb)
}

// quantile returns the value that so many percent of the sorted samples do not exceed.
func quantile(sorted []float64, percent int) float64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func TestQuantile(t *testing.T) {
	var all []float64
	for i := range 100 {
		all = append(all, float64(i+1))
	}
	for _, tt := range []struct {
		samples []float64
		percent int
		want    float64
	}{{all, 50, 50}, {all, 99, 99}, {all, 100, 100}, {all[:99], 99, 99}, {all[:10], 99, 10}, {all[:10], 50, 5}, {all[:1], 50, 1}} {
		if got := quantile(tt.samples, tt.percent); got != tt.want {
			t.Errorf("%d samples, %d %%: got %v, want %v", len(tt.samples), tt.percent, got, tt.want)
		}
	}
}

// distribute runs a trial for each of the first seeds, and reports how its results lie.
func distribute(b *testing.B, unit string, trial func(seed uint64) float64) {
	b.Helper()
	var all []float64
	for i := range b.N {
		all = append(all, trial(uint64(i)))
	}
	slices.Sort(all)
	b.ReportMetric(quantile(all, 50), unit+"-p50")
	b.ReportMetric(quantile(all, 99), unit+"-p99")
	b.ReportMetric(quantile(all, 100), unit+"-max")
	b.ReportMetric(0, "ns/op")
}

var councilSizes = []int{3, 5, 9, 17, 33, 64}

// mostDead is how many members may be down in the end: half of them, or as many as leave a quorum.
func mostDead(elector string, n int) int {
	if elector == "gated" {
		return (n - 1) / 2
	}
	return n / 2
}

// BenchmarkElection measures fail-over in units of δ: from the crash of a leader until all that are left agree on another. All
// variants are compared in small councils, the two in production in large ones as well.
func BenchmarkElection(b *testing.B) {
	for _, e := range benchmarked {
		for _, n := range councilSizes {
			if n > 9 && e.name != "fig5" && e.name != "gated" {
				continue
			}
			for _, dead := range slices.Compact([]int{0, n / 4, mostDead(e.name, n) - 1}) {
				b.Run(fmt.Sprintf("%s/n=%d/dead=%d", e.name, n, dead), func(b *testing.B) {
					distribute(b, "δ", func(seed uint64) float64 {
						return float64(failover(b, n, dead, seed, e.spawn)) / float64(benchDelta)
					})
				})
			}
		}
	}
}

// coldStart returns how long it takes from the start of all members at once until they agree. Those that are dead never say a word.
// They are the best-ranked ones: the first whose turn it is.
func coldStart(tb testing.TB, n, dead int, seed uint64, spawn sim.Spawn) time.Duration {
	tb.Helper()
	c := newCrowd(tb, n, seed, false, func(b sim.Boot) (protocol.Machine, error) {
		if int(b.Self) < dead {
			return mute{}, nil
		}
		return spawn(b)
	})
	for r := range dead {
		c.At(c.Now(), func() { c.Begin(sim.Fault{Kind: sim.Crash, A: protocol.Rank(r), B: protocol.Nobody}) })
	}
	return c.elect(tb)
}

// mute is a machine that does nothing.
type mute struct{}

func (mute) Step(_ protocol.Time, _ protocol.Event, out *protocol.Effects) { out.Wake = protocol.Never }

// BenchmarkColdStart measures the first election in units of δ.
func BenchmarkColdStart(b *testing.B) {
	for _, e := range benchmarked {
		if e.name != "fig5" && e.name != "gated" {
			continue
		}
		for _, n := range councilSizes {
			for _, dead := range slices.Compact([]int{0, n / 4, mostDead(e.name, n)}) {
				b.Run(fmt.Sprintf("%s/n=%d/dead=%d", e.name, n, dead), func(b *testing.B) {
					distribute(b, "δ", func(seed uint64) float64 {
						return float64(coldStart(b, n, dead, seed, e.spawn)) / float64(benchDelta)
					})
				})
			}
		}
	}
}

// BenchmarkSteady measures what an elector costs when nothing happens: messages in a second, and links that carry any.
func BenchmarkSteady(b *testing.B) {
	for _, e := range priced(b) {
		for _, n := range []int{5, 64} {
			b.Run(fmt.Sprintf("%s/n=%d", e.name, n), func(b *testing.B) {
				total, links, seconds := 0, 0, 0.0
				for i := range b.N {
					c := newCrowd(b, n, uint64(i), true, e.spawn)
					c.elect(b)
					c.pass(b, 10*time.Second)
					clear(c.sent)
					c.pass(b, 10*time.Second)
					seconds += 10
					for _, k := range c.sent {
						total += k
					}
					links += len(c.sent)
				}
				b.ReportMetric(float64(total)/seconds, "msgs/s")
				b.ReportMetric(float64(links)/float64(b.N), "links")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkFlapping counts how often a member came to follow another leader, at all members but the best-ranked one together,
// in a simulated hour in which something flaps. Nobody else crashes.
func BenchmarkFlapping(b *testing.B) {
	const best = protocol.Rank(0)
	for _, e := range append(priced(b), lan.alone()...) {
		if e.name == "fig1" || e.name == "fig2" {
			continue // they assume that nothing is lost
		}
		for _, kind := range []struct {
			name  string
			every time.Duration
			flap  func(*crowd)
		}{
			{"best-ranked-restarts", 5 * time.Second, func(c *crowd) {
				c.Begin(sim.Fault{Kind: sim.Crash, A: best, B: protocol.Nobody, For: time.Second})
			}},
			{"best-ranked-cut-off", 5 * time.Second, func(c *crowd) {
				c.Begin(sim.Fault{Kind: sim.Partition, A: protocol.Nobody, B: protocol.Nobody, Side: protocol.NewSet(best),
					For: c.Dice().Between(100*time.Millisecond, 2*time.Second)})
			}},
			{"any-link", time.Second, flapAnyLink},
		} {
			b.Run(e.name+"/"+kind.name, func(b *testing.B) {
				changes := 0
				for i := range b.N {
					c := newCrowd(b, 5, uint64(i), false, e.spawn)
					c.elect(b)
					c.Begin(sim.Fault{Kind: sim.Crash, A: best, B: protocol.Nobody, For: time.Second})
					c.pass(b, 20*time.Second)
					c.changes = 0 // the best-ranked member is up, and leads if the elector will have it
					for range int(time.Hour / kind.every) {
						kind.flap(c)
						c.pass(b, kind.every)
					}
					changes += c.changes
				}
				b.ReportMetric(float64(changes)/float64(b.N), "changes/h")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// flapAnyLink cuts one direction of any link for a while.
func flapAnyLink(c *crowd) {
	d := c.Dice()
	from := protocol.Rank(d.N(c.Members()))
	to := from
	for to == from {
		to = protocol.Rank(d.N(c.Members()))
	}
	c.Begin(sim.Fault{Kind: sim.Cut, A: from, B: to, For: d.Between(100*time.Millisecond, time.Second)})
}

// TestAFailoverIsWithinItsBound holds the benchmark's numbers against the bound that the paper gives.
func TestAFailoverIsWithinItsBound(t *testing.T) {
	for seed := range uint64(40) {
		cfg := suite.StableConfig(sim.Boot{Members: 9}, "fig5")
		if got, bound := failover(t, 9, 3, seed, stableSpawn("fig5")), cfg.Timing().Election; got > bound {
			t.Errorf("seed %d: it took %v, want at most %v", seed, got, bound)
		}
		if got, bound := coldStart(t, 9, 4, seed, gatedSpawn), cfg.Timing().Election; got > bound {
			t.Errorf("seed %d: the first election took %v, want at most %v", seed, got, bound)
		}
	}
}
