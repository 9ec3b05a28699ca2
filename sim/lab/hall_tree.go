package lab

import (
	"fmt"
	"math"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
)

func hallTreeGrowth(r *run, out *Report) error {
	const arity = 8
	sizes := []int{16, 32, 64, 125, 250}
	if !r.Quick {
		sizes = append(sizes, 500, 1000)
	}
	var all []council
	for i := range sizes { // the largest first, so that no core waits for them in the end
		n := sizes[len(sizes)-1-i]
		all = append(all, council{todayHosts, n, 0}, council{todayHosts, n, arity})
	}
	took, err := measure(r, 5, all)
	if err != nil {
		return err
	}
	t := out.table("Mean election time; "+todayHosts.name+":", "members", "directly", "tree of arity 8")
	curves := []Curve{{Name: "directly"}, {Name: "tree of arity 8"}}
	for i := range sizes {
		at := 2 * (len(sizes) - 1 - i)
		t.add(sizes[i], mean(took[at]), mean(took[at+1]))
		for k := range curves {
			curves[k].Points = append(curves[k].Points, Point{float64(sizes[i]), milliseconds(mean(took[at+k]))})
		}
	}
	out.chart(fmt.Sprintf("Election time, 16 to %d members", sizes[len(sizes)-1]), "members", "ms", curves...).LogX = true
	direct, tree := mean(took[0]), mean(took[1])
	out.check(tree < direct*2/3, fmt.Sprintf("with %d members the tree takes less than two thirds of the time", sizes[len(sizes)-1]), "%.3g ms with the tree, %.3g ms directly", milliseconds(tree), milliseconds(direct))
	doublings := make([]Point, len(sizes))
	for i, p := range curves[1].Points {
		doublings[i] = Point{math.Log2(p.X), p.Y}
	}
	slope, r2 := linear(doublings)
	out.check(r2 > 0.8 && slope > 0, "with the tree the time grows as log n", "%.3g ms each time that n doubles, R² = %.3f", slope, r2)
	last := len(sizes) - 1
	times, grown := float64(sizes[last])/float64(sizes[0]), curves[1].Points[last].Y/curves[1].Points[0].Y
	out.check(grown < 2*math.Log2(times), "and not as n", "%.3g times as long with %.3g times as many members", grown, times)
	return firstElections(r, out, sizes, arity)
}

// firstElection is what the first election after the crash of a leader takes, at the member that wins it.
type firstElection struct {
	from, until protocol.Time
	sent        int // own requests, to others
	received    int // replies to them
}

const nextLeader = 1

func (f *firstElection) Observe(r *sim.Record) error {
	switch {
	case r.T <= warmUp || f.until != 0 || r.Node != nextLeader:
	case r.Ev == protocol.EvAttempt && f.from == 0:
		f.from = r.Start
	case r.Ev == protocol.EvLease:
		f.until = r.At
	}
	return nil
}

// count counts the requests of the next leader and the replies to them. What it passes on for others does not count.
func (f *firstElection) count(l sim.Intercepted) {
	out, in := l.From.Rank == nextLeader && l.To != nextLeader, l.To == nextLeader && l.From.Rank != nextLeader
	switch msg := l.Message.(type) {
	case *hall.Election:
		f.sent += one(out)
	case *hall.Relay:
		f.sent += one(out && msg.Root.Rank == nextLeader)
	case *hall.Reply:
		f.received += one(in && msg.Root == nextLeader)
	}
}

// one returns 1 for true.
func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// first crashes the leader of a council and waits until the next one leads.
func (h hosts) first(members, arity int, seed uint64) (*firstElection, error) {
	f := &firstElection{}
	var w *sim.World
	w, err := h.world(members, arity, seed, false, func(l sim.Intercepted) {
		if w.Now() > warmUp && f.until == 0 {
			f.count(l)
		}
	})
	if err != nil {
		return nil, err
	}
	w.Observe(f)
	w.At(warmUp, func() { w.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: time.Hour}) })
	for f.until == 0 {
		if err := w.Run(w.Now().Add(100 * time.Millisecond)); err != nil {
			return nil, err
		}
		if w.Now() > warmUp.Add(20*time.Second) {
			return nil, fmt.Errorf("%d members, arity %d: no leader 20 s after the crash of the first", members, arity)
		}
	}
	return f, nil
}

// firstElections shows what a candidate sends and receives until it leads, and how long that takes.
func firstElections(r *run, out *Report, sizes []int, arity int) error {
	arities := []int{0, arity}
	all, err := each(r, 2*len(sizes), func(i int) (*firstElection, error) {
		n := sizes[len(sizes)-1-i/2]
		return todayHosts.first(n, arities[i%2], r.Seed+uint64(i))
	})
	if err != nil {
		return err
	}
	t := out.table("The first election after the leader has crashed, from the first request to the lease:",
		"members", "directly", "requests sent", "replies received", "tree", "requests sent", "replies received")
	curves := []Curve{{Name: "directly"}, {Name: fmt.Sprintf("tree of arity %d", arity)}}
	for i, n := range sizes {
		at := 2 * (len(sizes) - 1 - i)
		direct, tree := all[at], all[at+1]
		t.add(n, direct.until.Sub(direct.from), direct.sent, direct.received, tree.until.Sub(tree.from), tree.sent, tree.received)
		for k, f := range []*firstElection{direct, tree} {
			curves[k].Points = append(curves[k].Points, Point{float64(n), float64(f.sent + f.received)})
		}
	}
	out.chart("Messages of the next leader in the first election", "members", "messages", curves...).LogX = true
	direct, tree := all[0].sent+all[0].received, all[1].sent+all[1].received
	out.check(2*tree < direct, fmt.Sprintf("with %d members the tree saves the next leader more than half of its own messages", sizes[len(sizes)-1]),
		"%d requests and replies with the tree, %d directly", tree, direct)
	return nil
}
