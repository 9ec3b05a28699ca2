package suite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// hallWorld returns a world of members that elect local leaders as told, over quick links.
func hallWorld(t testing.TB, members int, seed uint64, change func(*hall.Config), more func(*sim.Config)) *sim.World {
	t.Helper()
	c := sim.Config{Members: members, Seed: seed, Groups: []protocol.Group{suite.HallGroup},
		Link:    sim.Link{Delay: sim.Between(100*time.Microsecond, 300*time.Microsecond)},
		Program: sim.ProgramSpec{Again: sim.Between(1, 1)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			cfg := suite.HallConfig("hall plain", b)
			if change != nil {
				change(&cfg)
			}
			return hall.New(cfg)
		}}
	if more != nil {
		more(&c)
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tally counts what is sent, by its name, and the rounds.
type tally struct {
	on     bool
	sent   map[string]int
	rounds int
}

func (c *tally) Observe(r *sim.Record) error {
	switch {
	case !c.on:
	case r.Ev == sim.EvSend && r.Node != r.Peer.Rank:
		c.sent[r.Why]++
	case r.Ev == protocol.EvAttempt:
		c.rounds++
	}
	return nil
}

func TestSteadyStateIsOneBroadcastAndOneReplyOfEachOther(t *testing.T) {
	for _, n := range []int{1, 2, 5, 8, 30} {
		w := hallWorld(t, n, 1, nil, func(c *sim.Config) { c.Messages = true })
		c := &tally{sent: map[string]int{}}
		w.Observe(c)
		if err := w.Run(sim.Real(995 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		c.on = true
		// The count begins and ends between two rounds.
		if err := w.Run(sim.Real(10*time.Second + 995*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"hall.Election": c.rounds * (n - 1), "hall.Reply": c.rounds * (n - 1)}
		for name, count := range want {
			if c.sent[name] != count {
				t.Errorf("%d members: %d %s in %d rounds, want %d", n, c.sent[name], name, c.rounds, count)
			}
		}
		if c.rounds < 100 || len(c.sent) > 2 {
			t.Errorf("%d members: %d rounds, sent %v", n, c.rounds, c.sent)
		}
	}
}

// bench is the timing of the benchmarks: with a Δ that leaves room for a thousand replies, one after the other.
var bench = hall.Timing{Rho: protocol.DefaultRho, Delta: 50 * time.Millisecond, OneWay: 20 * time.Millisecond, MaxAge: time.Second,
	Sched: 10 * time.Millisecond, Losses: 1, Renew: 100 * time.Millisecond}

// A processor is a member's processor, for which messages queue up: a message costs something to send, and ten times that to
// receive. Without it replies would not get into each other's way, however many there are.
type processor struct{ free sim.Real }

const (
	sendCost    = time.Microsecond
	receiveCost = 10 * time.Microsecond
)

// addProcessors puts the members of a world behind desks.
func addProcessors(c *sim.Config, w **sim.World) {
	out, in := make([]processor, c.Members), make([]processor, c.Members)
	dice := sim.NewDice(c.Seed, 1)
	take := func(d *processor, at sim.Real, cost time.Duration) sim.Real {
		d.free = max(d.free, at).Add(cost)
		return d.free
	}
	c.Intercept = func(l sim.Intercepted) bool {
		now := (*w).Now()
		at := now
		if l.From.Rank != l.To {
			at = take(&out[l.From.Rank], now, sendCost).Add(dice.Draw(c.Link.Delay))
		}
		(*w).At(at, func() { (*w).Deliver(l, take(&in[l.To], at, receiveCost)) })
		return true
	}
}

// elections collects how long renewals take: from the request to the lease.
type elections struct{ took []time.Duration }

func (e *elections) Observe(r *sim.Record) error {
	if r.Ev == protocol.EvLease && r.Why == "" && r.T > sim.Real(2*time.Second) {
		e.took = append(e.took, r.At.Sub(r.Start))
	}
	return nil
}

// electionTime runs a council for a few seconds and returns how long its elections take: the mean, and 99 of a hundred.
func electionTime(t testing.TB, members, arity int, seed uint64) (mean, most time.Duration) {
	t.Helper()
	var w *sim.World
	w = hallWorld(t, members, seed, func(c *hall.Config) {
		c.Timing, c.Arity = bench, arity
		c.Timing = c.Timing.Fit(c.Window())
	}, func(c *sim.Config) { addProcessors(c, &w) })
	e := &elections{}
	w.Observe(e)
	if err := w.Run(sim.Real(4 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if len(e.took) < 5 {
		t.Fatalf("%d members, arity %d: only %d elections", members, arity, len(e.took))
	}
	slices.Sort(e.took)
	var sum time.Duration
	for _, d := range e.took {
		sum += d
	}
	return sum / time.Duration(len(e.took)), e.took[len(e.took)*99/100]
}

func TestElectionTimeGrowsSlowerWithAReplyTree(t *testing.T) {
	direct, _ := electionTime(t, 250, 0, 1)
	tree, _ := electionTime(t, 250, 8, 1)
	t.Logf("250 members: %v directly, %v with a tree", direct, tree)
	if tree > direct/2 {
		t.Errorf("250 members: %v directly, %v with a tree, want less than half", direct, tree)
	}
}

// BenchmarkElectionTime reports simulated times, in milliseconds; how long the simulation takes is of no interest.
func BenchmarkElectionTime(b *testing.B) {
	for _, members := range []int{1, 2, 3, 4, 5, 6, 7, 8, 16, 64, 250, 1000} {
		for _, arity := range []int{0, 8} {
			if arity > 0 && members < 16 {
				continue
			}
			name := fmt.Sprintf("members=%d/direct", members)
			if arity > 0 {
				name = fmt.Sprintf("members=%d/tree", members)
			}
			b.Run(name, func(b *testing.B) {
				seed := uint64(0)
				var mean, most time.Duration
				for b.Loop() {
					seed++
					mean, most = electionTime(b, members, arity, seed)
				}
				b.ReportMetric(float64(mean)/1e6, "sim-ms/mean")
				b.ReportMetric(float64(most)/1e6, "sim-ms/p99")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// splitTimes splits councils of eight, by slowness, at a random instant into two random parts, and returns in order how long
// each part took to have a leader of its own.
func splitTimes(t testing.TB, runs int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for seed := range uint64(runs) {
		w := hallWorld(t, 8, seed, nil, nil)
		split := sim.Real(time.Second + w.Dice().Between(0, 200*time.Millisecond))
		var sides [2]protocol.Set
		for sides[0].Empty() || sides[1].Empty() {
			sides = [2]protocol.Set{}
			for r := range protocol.Rank(8) {
				sides[w.Dice().N(2)].Add(r)
			}
		}
		seen := &firstLeaders{sides: sides}
		w.Observe(seen)
		w.At(split, func() {
			seen.on = true
			for i := range sides {
				for a := range sides[i].All() {
					for b := range sides[1-i].All() {
						w.Begin(sim.Fault{Kind: sim.Slow, A: a, B: b, Amount: int64(200 * time.Millisecond)})
					}
				}
			}
		})
		if err := w.Run(split.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		for i, at := range seen.at {
			if at == 0 {
				t.Fatalf("seed %d: %v has no leader a second after the split", seed, sides[i])
			}
			took = append(took, at.Sub(split))
		}
	}
	slices.Sort(took)
	return took
}

// firstLeaders notes when each side is led by one of its own, with the support of all of it and of nobody else.
type firstLeaders struct {
	on    bool
	sides [2]protocol.Set
	at    [2]sim.Real
}

func (f *firstLeaders) Observe(r *sim.Record) error {
	for i, side := range f.sides {
		if f.on && f.at[i] == 0 && r.Ev == protocol.EvLease && r.Why == "" && r.Members == side {
			f.at[i] = r.T
		}
	}
	return nil
}

func TestEachPartOfASplitHasItsLeaderWithinKappa(t *testing.T) {
	took := splitTimes(t, 40)
	cfg := suite.HallConfig("hall plain", sim.Boot{Members: 8})
	if most := took[len(took)-1]; most > cfg.Kappa() {
		t.Errorf("a part took %v to have a leader, want at most κ = %v", most, cfg.Kappa())
	}
}

func BenchmarkSplit(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		took = splitTimes(b, 500)
	}
	for name, p := range map[string]int{"p50": 50, "p90": 90, "p99": 99, "max": 100} {
		b.ReportMetric(float64(took[max(0, len(took)*p/100-1)])/1e6, "sim-ms/"+name)
	}
	b.ReportMetric(0, "ns/op")
}
