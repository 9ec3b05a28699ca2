package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
)

// electionTiming leaves room for a thousand replies, one after the other, within Δ.
var electionTiming = hall.Timing{Rho: protocol.DefaultRho, Delta: 50 * time.Millisecond, OneWay: 20 * time.Millisecond, MaxAge: time.Second,
	Sched: 10 * time.Millisecond, Losses: 1, Renew: 100 * time.Millisecond}

// hosts are what messages cost the processors of members. Without it replies would not get into each other's way, however many
// there are.
type hosts struct {
	name          string
	send, receive time.Duration
}

var (
	oldHosts   = hosts{"0.1 ms to send, 0.5 ms to receive", 100 * time.Microsecond, 500 * time.Microsecond}
	todayHosts = hosts{"1 µs to send, 10 µs to receive", time.Microsecond, 10 * time.Microsecond}
)

// queue makes messages wait for the processors of their sender and receiver. It shows each to tap, if that is not nil.
func (h hosts) queue(c *sim.Config, w **sim.World, tap func(sim.Intercepted)) {
	out, in := make([]sim.Real, c.Members), make([]sim.Real, c.Members)
	dice := sim.NewDice(c.Seed, 1)
	take := func(free *sim.Real, at sim.Real, cost time.Duration) sim.Real {
		*free = max(*free, at).Add(cost)
		return *free
	}
	c.Intercept = func(l sim.Intercepted) bool {
		if tap != nil {
			tap(l)
		}
		now := (*w).Now()
		at := now
		if l.From.Rank != l.To {
			at = take(&out[l.From.Rank], now, h.send).Add(dice.Draw(c.Link.Delay))
		}
		(*w).At(at, func() { (*w).Deliver(l, take(&in[l.To], at, h.receive)) })
		return true
	}
}

// electionWatch collects how long renewals take, from the request to the lease, and what the leader receives meanwhile.
type electionWatch struct {
	took    []time.Duration
	rounds  int
	replies int
}

// warmUp is how long a council has to come to rest.
const warmUp = sim.Real(4 * time.Second)

func (e *electionWatch) Observe(r *sim.Record) error {
	switch {
	case r.T <= warmUp:
	case r.Ev == protocol.EvLease && r.Why == "":
		e.took = append(e.took, r.At.Sub(r.Start))
	case r.Ev == protocol.EvAttempt:
		e.rounds++
	case r.Ev == sim.EvDeliver && r.Node == 0 && r.Peer.Rank != 0 && r.Why == "hall.Reply":
		e.replies++
	}
	return nil
}

// world returns a world of members on such hosts, with a tree if the arity is not zero.
func (h hosts) world(members, arity int, seed uint64, messages bool, tap func(sim.Intercepted)) (*sim.World, error) {
	var w *sim.World
	var err error
	w, err = hallWorld(members, seed, func(c *hall.Config) {
		c.Timing, c.Arity = electionTiming, arity
		c.Timing = c.Timing.Fit(c.Window())
	}, func(c *sim.Config) {
		c.Messages = messages
		h.queue(c, &w, tap)
	})
	return w, err
}

// elections runs a council until it has renewed its lease so often.
func (h hosts) elections(members, arity, count int, seed uint64, messages bool) (*electionWatch, error) {
	w, err := h.world(members, arity, seed, messages, nil)
	if err != nil {
		return nil, err
	}
	e := &electionWatch{}
	w.Observe(e)
	for limit := warmUp.Add(time.Duration(count+10) * time.Second); len(e.took) < count; {
		if err := w.Run(w.Now().Add(time.Second)); err != nil {
			return nil, err
		}
		if w.Now() > limit {
			return nil, fmt.Errorf("%d members, arity %d: only %d elections in %v", members, arity, len(e.took), w.Now())
		}
	}
	slices.Sort(e.took)
	return e, nil
}

// A council is one whose elections are measured.
type council struct {
	hosts
	members, arity int
}

// measure measures the election times of several councils at once.
func measure(r *run, count int, all []council) ([][]time.Duration, error) {
	return each(r, len(all), func(i int) ([]time.Duration, error) {
		e, err := all[i].elections(all[i].members, all[i].arity, count, r.Seed+uint64(i), false)
		if err != nil {
			return nil, err
		}
		return e.took, nil
	})
}

// oneToEight are the councils of Figs. 25 and 26.
func oneToEight(h hosts) []council {
	var all []council
	for n := 1; n <= 8; n++ {
		all = append(all, council{h, n, 0})
	}
	return all
}

func hallDistribution(r *run, out *Report) error {
	count := r.pick(200, 12_500)
	took, err := measure(r, count, oneToEight(oldHosts))
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("Election time, %d elections each; %s:", count, oldHosts.name), "members", "median", "90%", "99%", "longest")
	c := out.chart("Election time, 1 to 8 members", "ms", "share of the elections")
	right := true
	for i, all := range took {
		t.add(i+1, share(all, 0.5), share(all, 0.9), share(all, 0.99), share(all, 1))
		c.Curves = append(c.Curves, distribution(fmt.Sprintf("n = %d", i+1), all))
		right = right && (i == 0 || share(all, 0.5) > share(took[i-1], 0.5))
	}
	out.check(right, "each further member shifts the distribution to the right", "medians from %v to %v",
		share(took[0], 0.5).Round(time.Microsecond), share(took[7], 0.5).Round(time.Microsecond))
	return nil
}

func hallMeans(r *run, out *Report) error {
	count := r.pick(200, 12_500)
	took, err := measure(r, count, append(oneToEight(oldHosts), oneToEight(todayHosts)...))
	if err != nil {
		return err
	}
	for i, h := range []hosts{oldHosts, todayHosts} {
		t := out.table(fmt.Sprintf("Election time, %d elections each; %s:", count, h.name), "members", "mean", "99%")
		curves := []Curve{{Name: "mean"}, {Name: "99%"}}
		for n, all := range took[8*i : 8*i+8] {
			t.add(n+1, mean(all), share(all, 0.99))
			curves[0].Points = append(curves[0].Points, Point{float64(n + 1), milliseconds(mean(all))})
			curves[1].Points = append(curves[1].Points, Point{float64(n + 1), milliseconds(share(all, 0.99))})
		}
		out.chart("Election time; "+h.name, "members", "ms", curves...)
		if i == 0 {
			slope, r2 := linear(curves[0].Points[1:])
			out.check(r2 > 0.99 && slope > 0, "the mean grows linearly from 2 members on", "%.3g ms per member, R² = %.4f", slope, r2)
			most := milliseconds(oldHosts.send + oldHosts.receive)
			out.check(slope < 1.5*most, "what grows is the cost of one message each way", "%.3g ms per member; sending and receiving cost %.3g ms", slope, most)
		}
	}
	return nil
}

func hallTreeReplies(r *run, out *Report) error {
	const arity = 3
	sizes := []int{4, 8, 13, 22, 40}
	type counted struct{ direct, tree float64 }
	all, err := each(r, len(sizes), func(i int) (counted, error) {
		var c counted
		for _, way := range []struct {
			arity int
			per   *float64
		}{{0, &c.direct}, {arity, &c.tree}} {
			e, err := todayHosts.elections(sizes[i], way.arity, r.pick(20, 200), r.Seed+uint64(i), true)
			if err != nil {
				return c, err
			}
			*way.per = float64(e.replies) / float64(e.rounds)
		}
		return c, nil
	})
	if err != nil {
		return err
	}
	t := out.table("Replies that a candidate receives for each request:", "members", "directly", "3-ary tree")
	curves := []Curve{{Name: "directly"}, {Name: "3-ary tree"}}
	within, direct := true, true
	for i, c := range all {
		n := float64(sizes[i])
		t.add(sizes[i], c.direct, c.tree)
		curves[0].Points = append(curves[0].Points, Point{n, c.direct})
		curves[1].Points = append(curves[1].Points, Point{n, c.tree})
		within = within && c.tree <= arity*1.1
		direct = direct && c.direct > 0.98*(n-1)
	}
	out.chart("Replies to a candidate", "members", "replies", curves...)
	out.check(within, "the root of a 3-ary tree receives three replies, within a tenth", "%.3g with %d members", all[len(all)-1].tree, sizes[len(sizes)-1])
	out.check(direct, "without a tree it receives one of each other member", "%.3g with %d members", all[len(all)-1].direct, sizes[len(sizes)-1])
	return nil
}

func hallTreeOfEight(r *run, out *Report) error {
	count := r.pick(200, 10_000)
	took, err := measure(r, count, []council{{oldHosts, 8, 0}, {oldHosts, 8, 3}})
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("Election time of eight members, %d elections each; %s:", count, oldHosts.name), "replies", "mean", "median", "99%")
	for i, name := range []string{"directly", "3-ary tree"} {
		t.add(name, mean(took[i]), share(took[i], 0.5), share(took[i], 0.99))
	}
	out.chart("Election time, 8 members", "ms", "share of the elections", distribution("directly", took[0]), distribution("3-ary tree", took[1]))
	gain := float64(mean(took[0])-mean(took[1])) / float64(mean(took[0]))
	out.check(gain < 0.25, "the tree saves less than a quarter of the time with eight members", "it saves %.1f%%", 100*gain)
	return nil
}
