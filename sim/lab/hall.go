package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

const hallPaper = "HALL"

func hallExperiments() []*Experiment {
	return []*Experiment{
		{Name: "hall-fig24", Paper: hallPaper, Where: "Fig. 24", Title: "the leaders where some members cannot reach each other",
			Claim: "A graph algorithm computes the local leaders of every maximum connected set: the least member first, unless it or a neighbour is marked.",
			Differs: "The text can be read in two ways, by which members are marked. Neither is what the protocol does (E-H5): a candidate that fails keeps asking, " +
				"and a follower is silent. The oracle H-GRAPH describes the protocol.",
			run: hallGraphs},
		{Name: "hall-fig25", Paper: hallPaper, Where: "Fig. 25", Title: "distribution of the election time, 1 to 8 members",
			Claim: "Each further member shifts the distribution of the time from a request to the renewed lease to the right.",
			Differs: "Simulated hosts, not SUN IPX on 10 Mbit/s Ethernet: 0.1 ms to send a message and 0.5 ms to receive one, " +
				"its own request included.",
			run: hallDistribution},
		{Name: "hall-fig26", Paper: hallPaper, Where: "Fig. 26", Title: "mean and 99% election time, 1 to 8 members",
			Claim:   "The election time grows linearly with the number of members, because the candidate receives one reply after the other.",
			Differs: "On hosts of today (1 µs to send, 10 µs to receive) the delays of the links exceed the growth; the last chart shows them.",
			run:     hallMeans},
		{Name: "hall-fig27", Paper: hallPaper, Where: "Fig. 27", Title: "time to a new leader after a split",
			Claim: "After a split a new leader removes the other part from its alive set within expires (230 ms) and is elected in its second attempt.",
			Differs: "expires is 230 ms as in the paper; Δ, σ and EP are those of the profile, because the paper's break its own constraints (hall-constants). " +
				"A part whose members have not all removed the old leader refuses the first attempt, as in the paper.",
			run: hallSplit},
		{Name: "hall-fig28", Paper: hallPaper, Where: "Fig. 28", Title: "replies that a candidate receives with a reply tree",
			Claim: "The alive set of the request defines an n-ary tree. Inner nodes collate replies, so the root receives as many replies as it has children.",
			Differs: "Requests travel down the tree as well; in the paper they go to all members directly. A node acknowledges each reply, and a member without an acknowledgement " +
				"replies to the root directly, so that a dead inner node does not silence its branch. The paper leaves this open.",
			run: hallTreeReplies},
		{Name: "hall-fig29", Paper: hallPaper, Where: "Fig. 29", Title: "election time with a reply tree and without, 8 members",
			Claim:   "With eight members the tree does not shorten elections enough to be worth its complexity.",
			Differs: "Simulated hosts with the costs of hall-fig25, and a tree of arity 3. Requests travel down the tree as well.",
			run:     hallTreeOfEight},
		{Name: "hall-tree", Paper: hallPaper, Where: "section XI", Title: "election time with a tree and without, 16 to 1,000 members",
			Claim:   "For systems with more processes the tree could decrease the election time significantly.",
			Differs: "The paper did not measure it, and sends requests to all members directly. Here the renewals of a leader travel down the tree as well. The growth is one of steps: a level of the tree costs about as much as the next.",
			run:     hallTreeGrowth},
		{Name: "hall-constants", Paper: hallPaper, Where: "sections IX and XI", Title: "the constants that the paper measured with",
			Claim: "Δ = 15 ms, σ = 30 ms, EP = 50 ms; expires could be about 50 ms.",
			Differs: "These constants break the paper's own constraints (E-H3): a lease would be over before it begins. A configuration with them is refused; " +
				"the table has what each constraint needs, and the least constants that satisfy all of them.",
			run: hallConstants},
	}
}

// hallGraphs compares both readings of Fig. 24 and the protocol with the oracle.
func hallGraphs(r *run, out *Report) error {
	t := out.table("Connected labelled graphs on which the leaders differ from the oracle:", "members", "graphs", "marked by the elected", "marked by all", "graphs played", "protocol")
	curves := []Curve{{Name: "Fig. 24, marked by the elected"}, {Name: "Fig. 24, marked by all"}, {Name: "the protocol"}}
	played, wrong := 0, 0
	var first error
	for n := 3; n <= 5; n++ {
		var graphs []suite.Graph
		count := [2]int{}
		suite.AllGraphs(n, func(g suite.Graph) {
			graphs = append(graphs, g)
			firm, maybe := check.LeadersOf(g)
			may := firm.Union(maybe)
			for i, reading := range []bool{true, false} {
				if says := g.Fig24(reading); !says.Contains(firm) || !may.Contains(says) {
					count[i]++
				}
			}
		})
		every := 1
		if n == 5 {
			every = r.pick(24, 1)
		}
		bad, err := each(r, len(graphs)/every, func(i int) (error, error) {
			_, err := graphs[i*every].Play(0, r.Seed+uint64(i))
			return err, nil
		})
		if err != nil {
			return err
		}
		differ := 0
		for _, err := range bad {
			if err != nil {
				differ++
				first = err
			}
		}
		played, wrong = played+len(bad), wrong+differ
		t.add(n, len(graphs), count[0], count[1], len(bad), differ)
		for i, v := range []float64{float64(count[0]) / float64(len(graphs)), float64(count[1]) / float64(len(graphs)), float64(differ) / float64(len(bad))} {
			curves[i].Points = append(curves[i].Points, Point{float64(n), 100 * v})
		}
		if n == 5 {
			out.check(count[0] == 94 && count[1] == 28, "neither reading of Fig. 24 is right on all graphs of five", "wrong on %d and on %d of %d", count[0], count[1], len(graphs))
		}
	}
	out.chart("Graphs on which the leaders differ from the oracle", "members", "% of the graphs", curves...)
	text := fmt.Sprintf("%d of %d graphs differ", wrong, played)
	if first != nil {
		text += ": " + first.Error()
	}
	out.check(wrong == 0, "the leaders of the protocol are those of the oracle (H-GRAPH)", "%s", text)
	return nil
}

// hallConstants works out what the constants of the paper come to.
func hallConstants(_ *run, out *Report) error {
	paper := hall.Timing{Rho: protocol.DefaultRho, Delta: 15 * time.Millisecond, OneWay: 5 * time.Millisecond, MaxAge: time.Second, Sched: 30 * time.Millisecond,
		Period: 50 * time.Millisecond, Expires: 50 * time.Millisecond}
	// The paper does not give lockTime. This is what its text leaves for it (C2), but for drift.
	paper.Lock = paper.Period - paper.Sched - paper.Delta
	const window = 2
	fit := paper.Fit(window)
	t := out.table("What the constraints need, with Δ = 15 ms and σ = 30 ms:", "constraint", "the paper has", "it takes", "holds")
	row := func(name string, has, takes time.Duration) {
		t.add(name, has, takes, map[bool]string{true: "yes", false: "no"}[has >= takes])
	}
	row("C1: lockTime > 2Δ + σ", paper.Lock, window*paper.Delta+paper.Sched)
	row("C3: EP ≥ 3Δ + 2σ", paper.Period, 3*paper.Delta+2*paper.Sched)
	row("C4: lockTime ≥ 2Δ + 2σ + R, R = 0", paper.Lock, window*paper.Delta+2*paper.Sched)
	row("C5: expires ≥ EP + 2Δ", paper.Expires, paper.Period+window*paper.Delta)
	least := out.table("The least constants that satisfy all constraints:", "constant", "paper", "least")
	least.add("lockTime", paper.Lock, fit.Lock)
	least.add("EP", paper.Period, fit.Period)
	least.add("expires", paper.Expires, fit.Expires)
	least.add("κ", "not stated", fit.Kappa(window))
	refused := paper.Check(window)
	out.check(refused != nil, "the constants of section XI are infeasible", "%v", refused)
	accepted := fit.Check(window)
	out.check(accepted == nil, "the least constants satisfy all constraints", "lockTime %v, EP %v, expires %v: %v", fit.Lock, fit.Period, fit.Expires, errorOr(accepted, "accepted"))
	shorter := fit
	shorter.Lock -= time.Millisecond
	refused = shorter.Check(window)
	out.check(refused != nil, "none of them can be shorter", "lockTime less 1 ms: %v", errorOr(refused, "accepted"))
	return nil
}

// errorOr returns the text of an error, or another one if there is none.
func errorOr(err error, or string) string {
	if err != nil {
		return err.Error()
	}
	return or
}

// hallSplit splits councils of eight by slowness.
func hallSplit(r *run, out *Report) error {
	timing := hall.LAN
	timing.Losses, timing.Expires = 0, 230*time.Millisecond
	cfg := hall.Default(0, 8, 1, timing)
	kappa := cfg.Kappa()
	splits, err := each(r, r.pick(40, 3000), func(i int) (split, error) { return splitOnce(timing, r.Seed<<20+uint64(i)) })
	if err != nil {
		return err
	}
	var removed, elected []time.Duration
	second := 0
	for _, s := range splits {
		removed, elected = append(removed, s.removed), append(elected, s.elected)
		if s.attempts <= 2 {
			second++
		}
	}
	slices.Sort(removed)
	slices.Sort(elected)
	t := out.table(fmt.Sprintf("%d splits of eight members; the part that loses its leader:", len(splits)), "until", "median", "90%", "99%", "longest")
	t.add("the other part is out of the alive set", share(removed, 0.5), share(removed, 0.9), share(removed, 0.99), share(removed, 1))
	t.add("a leader of this part is elected", share(elected, 0.5), share(elected, 0.9), share(elected, 0.99), share(elected, 1))
	out.chart("Time after a split", "ms", "share of the splits", distribution("the other part is removed (left graph)", removed), distribution("a leader is elected (right graph)", elected))
	inTwo := float64(second) / float64(len(splits))
	out.check(inTwo > 0.9, "in general the second attempt succeeds", "in %.1f%% of the splits the second attempt at the latest", 100*inTwo)
	late := share(removed, 1)
	limit := timing.Expires + 2*timing.Period
	out.check(late <= limit, "the other part is removed within expires and the next attempts", "%v at most; expires is %v, EP %v", late.Round(time.Millisecond), timing.Expires, timing.Period)
	out.check(share(elected, 1) <= kappa, "a leader is elected within κ (H-T)", "%v at most; κ is %v", share(elected, 1).Round(time.Millisecond), kappa.Round(time.Millisecond))
	return nil
}

// split is how long one took, in the part without the old leader.
type split struct {
	removed, elected time.Duration
	attempts         int
}

// splitOnce splits a council of eight at a random instant into two random parts.
func splitOnce(timing hall.Timing, seed uint64) (split, error) {
	w, err := hallWorld(8, seed, func(c *hall.Config) { c.Timing = timing }, nil)
	if err != nil {
		return split{}, err
	}
	at := sim.Real(time.Second + w.Dice().Between(0, 200*time.Millisecond))
	var sides [2]protocol.Set
	sides[0].Add(0)
	for sides[1].Empty() {
		for r := range protocol.Rank(7) {
			sides[w.Dice().N(2)].Add(r + 1)
		}
	}
	sides[0] = protocol.Everyone(8).Minus(sides[1])
	seen := &splitWatch{side: sides[1]}
	w.Observe(seen)
	w.At(at, func() {
		seen.on = true
		for i := range sides {
			for a := range sides[i].All() {
				for b := range sides[1-i].All() {
					w.Begin(sim.Fault{Kind: sim.Slow, A: a, B: b, Amount: int64(200 * time.Millisecond)})
				}
			}
		}
	})
	if err := w.Run(at.Add(time.Second)); err != nil {
		return split{}, err
	}
	if seen.elected == 0 {
		return split{}, fmt.Errorf("seed %d: %v has no leader a second after the split", seed, sides[1])
	}
	return split{seen.removed.Sub(at), seen.elected.Sub(at), seen.attempts}, nil
}

// splitWatch notes when the leader of a part asks without anybody of the other, and when it has the support of all of its own and of
// nobody else.
type splitWatch struct {
	on               bool
	side             protocol.Set
	removed, elected sim.Real
	attempts         int // up to the one that succeeds
}

func (f *splitWatch) Observe(r *sim.Record) error {
	if !f.on || r.Node != f.side.Min() {
		return nil
	}
	switch {
	case r.Ev == protocol.EvAttempt && f.elected == 0:
		f.attempts++
		if f.removed == 0 && f.side.Contains(r.Members) {
			f.removed = r.T
		}
	case r.Ev == protocol.EvLease && f.elected == 0 && r.Why == "" && r.Members == f.side:
		f.elected = r.T
	}
	return nil
}

// hallWorld returns a world of members that elect local leaders as change configures them, over quick links.
func hallWorld(members int, seed uint64, change func(*hall.Config), more func(*sim.Config)) (*sim.World, error) {
	c := sim.Config{Members: members, Seed: seed, Groups: []protocol.Group{suite.HallGroup},
		Link:    sim.Link{Delay: sim.Between(100*time.Microsecond, 300*time.Microsecond)},
		Program: sim.ProgramSpec{Again: sim.Between(1, 1)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			cfg := suite.HallConfig("hall plain", b)
			change(&cfg)
			return hall.New(cfg)
		}}
	if more != nil {
		more(&c)
	}
	return sim.New(c)
}
