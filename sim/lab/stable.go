package lab

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/sim"
)

const stablePaper = "Stable"

func stableExperiments() []*Experiment {
	return []*Experiment{
		{Name: "stable-k", Paper: stablePaper, Where: "Theorems 2 to 5", Title: "how long after its last bad link a leader can still be demoted",
			Claim: "A leader that has been accessible for kδ is not demoted: k is 3 in Fig. 2, n + 4 in Fig. 3, 6 in Figs. 4 and 5.",
			Differs: "The theorems are upper bounds. The schedules here are the worst that we know of: the bounds of Figs. 2, 4 and 5 are tight to one δ. For Fig. 3 no known " +
				"schedule comes closer than 2δ.",
			run: stableDemotions},
		{Name: "stable-election", Paper: stablePaper, Where: "Theorem 5", Title: "election time by the number of members that crashed with the leader",
			Claim: "With Fig. 5 the election time is 9δ when no link is slow and no process crashes meanwhile. With Fig. 4 it grows with the number of crashed members.",
			Differs: "Crashes are simultaneous, of the leader and of those whose rounds come next, which is the worst for Fig. 4. Delays are drawn between 0 and δ, so the " +
				"measured times lie below the bound.",
			run: stableElections},
		{Name: "stable-links", Paper: stablePaper, Where: "Figs. 1 to 6", Title: "links that carry messages in the end",
			Claim: "Eventually only the n links from the leader carry messages, its link to itself included (Figs. 1 to 5); in Fig. 6 n bidirectional links do.",
			Differs: "A leader sends nothing to itself, so it is n-1 links, and n-1 in each direction in Fig. 6. Only messages of the elector count: the datagram layer probes each link in " +
				"both directions, because members without synchronised clocks cannot bound the age of a message otherwise.",
			run: stableLinks},
	}
}

// stableDemotions plays the worst schedules that we know of.
func stableDemotions(r *run, out *Report) error {
	sizes := []int{5, 8}
	if !r.Quick {
		sizes = []int{5, 6, 8, 10, 12, 16}
	}
	type trial struct {
		figure    string
		n, k, gap int // gap is by how many whole δ the schedule is known to miss the bound
		run       func(k int) error
	}
	trials := []trial{{"Fig. 2", 4, 3, 1, slowSchedule{}.run}}
	for _, n := range sizes {
		trials = append(trials,
			trial{"Fig. 3", n, n + 4, 3, schedule{variant: stable.Lossy, n: n}.run},
			trial{"Fig. 4", n, 6, 1, schedule{variant: stable.Alerting, n: n}.run})
		if n >= 8 {
			trials = append(trials, trial{"Fig. 5", n, 6, 1, schedule{variant: stable.Alerting, ping: true, n: n}.run},
				trial{"Fig. 5, gated", n, 6, 1, schedule{variant: stable.Alerting, ping: true, gated: true, n: n}.run})
		}
	}
	after, err := each(r, len(trials), func(i int) (int, error) { return demoted(trials[i].k+1, trials[i].run) })
	if err != nil {
		return err
	}
	t := out.table("A leader is demoted, at the latest, after more than so many δ:", "figure", "members", "k of the theorem", "demoted after")
	curves := map[string]*Curve{}
	order := []string{"Fig. 3, bound", "Fig. 3, measured", "Fig. 4, bound", "Fig. 4, measured"}
	for _, name := range order {
		curves[name] = &Curve{Name: name, Bound: name[len(name)-5:] == "bound"}
	}
	held, tight := 0, 0
	for i, x := range trials {
		t.add(x.figure, x.n, fmt.Sprintf("%d δ", x.k), fmt.Sprintf("%d δ", after[i]))
		if c := curves[x.figure+", bound"]; c != nil {
			c.Points = append(c.Points, Point{float64(x.n), float64(x.k)})
			m := curves[x.figure+", measured"]
			m.Points = append(m.Points, Point{float64(x.n), float64(after[i])})
		}
		if after[i] < x.k {
			held++
		}
		if after[i] >= x.k-x.gap {
			tight++
		}
	}
	c := out.chart("Demotion of an accessible leader", "members", "δ")
	for _, name := range order {
		c.Curves = append(c.Curves, *curves[name])
	}
	out.check(held == len(trials), "no leader is demoted after kδ (S-kSTAB)", "%d of %d schedules", held, len(trials))
	out.check(tight == len(trials), "the schedules come within δ of the bound, for Fig. 3 within 3δ", "%d of %d schedules", tight, len(trials))
	return nil
}

// electionMembers is how many members the elections are measured with.
const electionMembers = 9

// stableElections crashes leaders together with those that would come next.
func stableElections(r *run, out *Report) error {
	runs := r.pick(10, 300)
	figures := []struct {
		name string
		ping bool
	}{{"Fig. 4", false}, {"Fig. 5", true}}
	t := out.table(fmt.Sprintf("Longest election of %d, in δ, %d members:", runs, electionMembers), "crashed", "Fig. 4", "Fig. 5", "bound")
	curves := []Curve{{Name: "Fig. 4, longest"}, {Name: "Fig. 5, longest"}, {Name: "9δ", Bound: true}}
	last := electionMembers - 1
	took, err := each(r, last*runs, func(i int) ([2]time.Duration, error) {
		var both [2]time.Duration
		for k, f := range figures {
			d, err := electAfter(1+i/runs, f.ping, r.Seed<<20+uint64(i))
			if err != nil {
				return both, fmt.Errorf("%s: %w", f.name, err)
			}
			both[k] = d
		}
		return both, nil
	})
	if err != nil {
		return err
	}
	var longest [electionMembers][2]float64
	for i, both := range took {
		for k, d := range both {
			longest[1+i/runs][k] = max(longest[1+i/runs][k], float64(d)/float64(exact))
		}
	}
	worst := 0.0
	for crashed := 1; crashed <= last; crashed++ {
		t.add(crashed, longest[crashed][0], longest[crashed][1], 9)
		for k, y := range []float64{longest[crashed][0], longest[crashed][1], 9} {
			curves[k].Points = append(curves[k].Points, Point{float64(crashed), y})
		}
		worst = max(worst, longest[crashed][1])
	}
	out.chart("Election time after crashes", "members that crashed", "δ", curves...)
	out.check(worst <= 9, "with Fig. 5 a leader is elected within 9δ (S-9D)", "%.3g δ at most", worst)
	out.check(longest[last-1][0] > 2*longest[1][0], "with Fig. 4 the election time grows with the crashed members", "%.3g δ after one crash, %.3g δ after %d", longest[1][0], longest[last-1][0], last-1)
	return nil
}

// electAfter crashes the leader, and those whose rounds are next, at a random instant, and returns how long the others need to agree.
func electAfter(crashed int, ping bool, seed uint64) (time.Duration, error) {
	w, err := sim.New(sim.Config{Members: electionMembers, Seed: seed, Link: sim.Link{Delay: sim.Between(1, exact)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return stable.New(stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Ping: ping, Period: exact, Delta: exact, Expiry: exact})
		}})
	if err != nil {
		return 0, err
	}
	at := sim.Real(time.Second + w.Dice().Between(0, 5*exact))
	if err := w.Run(at); err != nil {
		return 0, err
	}
	if !agree(w) {
		return 0, fmt.Errorf("seed %d: nobody leads after a second without faults", seed)
	}
	leader := w.Views(0)[0].Leader.Rank
	for i := range crashed {
		next := (leader + protocol.Rank(i)) % electionMembers
		w.Begin(sim.Fault{Kind: sim.Crash, A: next, B: protocol.Nobody})
	}
	// The time counts from when nobody leads, which is the crash.
	const step = exact / 20
	for w.Now().Sub(at) < 10*time.Second {
		if err := w.Run(w.Now().Add(step)); err != nil {
			return 0, err
		}
		if agree(w) {
			return w.Now().Sub(at), nil
		}
	}
	return 0, fmt.Errorf("seed %d: no leader 10 s after %d crashes", seed, crashed)
}

// figures are the electors of the paper, by figure.
var figures = []struct {
	name string
	both bool // links carry messages in both directions
	make func(sim.Boot) (protocol.Machine, error)
}{
	{"Fig. 1", false, stableFigure(func(c *stable.Config) { c.Variant = stable.Basic })},
	{"Fig. 2", false, stableFigure(func(c *stable.Config) { c.Variant = stable.Reliable })},
	{"Fig. 3", false, stableFigure(func(c *stable.Config) { c.Variant = stable.Lossy })},
	{"Fig. 4", false, stableFigure(func(*stable.Config) {})},
	{"Fig. 5", false, stableFigure(func(c *stable.Config) { c.Ping = true })},
	{"Fig. 6", true, func(b sim.Boot) (protocol.Machine, error) {
		return detect.New(detect.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: exact, Delta: exact, Expiry: exact, Rho: protocol.DefaultRho})
	}},
}

func stableFigure(change func(*stable.Config)) func(sim.Boot) (protocol.Machine, error) {
	return func(b sim.Boot) (protocol.Machine, error) {
		c := stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: exact, Delta: exact, Expiry: exact}
		change(&c)
		return stable.New(c)
	}
}

// linkWatch counts which links carry messages.
type linkWatch struct {
	on   bool
	sent map[[2]protocol.Rank]int
	all  int
}

func (l *linkWatch) Observe(r *sim.Record) error {
	if l.on && r.Ev == sim.EvSend && r.Node != r.Peer.Rank {
		l.sent[[2]protocol.Rank{r.Node, r.Peer.Rank}]++
		l.all++
	}
	return nil
}

// stableLinks counts links after the leader has crashed and the others have come to rest.
func stableLinks(r *run, out *Report) error {
	sizes := []int{3, 5, 8, 16}
	const window = 100 // δ
	type carried struct{ links, messages float64 }
	all, err := each(r, len(figures)*len(sizes), func(i int) (carried, error) {
		f, n := figures[i/len(sizes)], sizes[i%len(sizes)]
		l := &linkWatch{sent: map[[2]protocol.Rank]int{}}
		w, err := sim.New(sim.Config{Members: n, Seed: r.Seed + uint64(i), Messages: true, Spawn: f.make,
			Link: sim.Link{Delay: sim.Between(exact/20, exact/4), Reliable: f.name == "Fig. 1" || f.name == "Fig. 2"}})
		if err != nil {
			return carried{}, err
		}
		w.Observe(l)
		if err := w.Run(sim.Real(5 * time.Second)); err != nil {
			return carried{}, err
		}
		if !agree(w) {
			return carried{}, fmt.Errorf("%s, %d members: nobody leads after 5 s without faults", f.name, n)
		}
		l.on = true
		err = w.Run(w.Now().Add(window * exact))
		return carried{float64(len(l.sent)), float64(l.all) / window}, err
	})
	if err != nil {
		return err
	}
	t := out.table("Links that carry messages, and messages in δ:", "figure", "members", "links", "expected", "messages")
	right := 0
	var curves []Curve
	for i, c := range all {
		f, n := figures[i/len(sizes)], sizes[i%len(sizes)]
		want := n - 1
		if f.both {
			want *= 2
		}
		if int(c.links) == want {
			right++
		}
		t.add(f.name, n, c.links, want, c.messages)
		if i%len(sizes) == 0 {
			curves = append(curves, Curve{Name: f.name})
		}
		last := &curves[len(curves)-1]
		last.Points = append(last.Points, Point{float64(n), c.links})
	}
	curves[4].Name = "Figs. 1 to 5"
	out.chart("Links that carry messages", "members", "links", curves[4:]...)
	out.check(right == len(all), "n-1 links carry messages, 2(n-1) in Fig. 6 (S-COMM)", "in %d of %d councils", right, len(all))
	return nil
}
