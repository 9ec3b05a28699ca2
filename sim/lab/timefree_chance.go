package lab

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/drive"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// A round of chance is one in which each member asks once, and all answers arrive in an order drawn by lot.
type rounds struct {
	n        int
	dice     *rand.Rand
	now      protocol.Time
	machines []*counter.Machine
	executor drive.Executor
	// asked are the open queries. lost collects, for each member, whose answers it has lost so far.
	asked []*timefree.Query
	lost  []protocol.Set
	in    protocol.Receive
	host  host
	order []protocol.Rank
	tune  func(*timefree.Config)
	// changes counts how often a member that trusted somebody trusted somebody else.
	changes int
	trusts  []protocol.Rank
}

// chance plays trials of x rounds and returns in how many MP(1) survived: some member never lost the answer of some other.
func chance(n, x, trials int, seed uint64) (held int, err error) {
	dice := rand.New(rand.NewPCG(seed, 0x7f))
	for range trials {
		r := &rounds{n: n, dice: dice, asked: make([]*timefree.Query, n), lost: make([]protocol.Set, n)}
		if err := r.start(); err != nil {
			return 0, err
		}
		for range x {
			r.round()
		}
		if r.survived() {
			held++
		}
	}
	return held, nil
}

func (r *rounds) start() error {
	for i := range protocol.Rank(r.n) {
		c := timefree.Default(i, r.n, 1)
		c.Plain = true
		if r.tune != nil {
			r.tune(&c)
		}
		m, err := timefree.New(c)
		if err != nil {
			return err
		}
		r.machines = append(r.machines, m)
		r.order = append(r.order, i)
		r.trusts = append(r.trusts, protocol.Nobody)
		r.step(i, protocol.Start{})
	}
	return nil
}

// step lets a machine take an event.
func (r *rounds) step(i protocol.Rank, ev protocol.Event) {
	r.host = host{r: r, i: i}
	r.executor.Step(&r.host, r.now, ev)
}

// A host notes what is of interest in a Step of a machine: a query that it sends, the member that it trusts, and who lost if a query
// of its own has ended.
type host struct {
	drive.Ignore
	r *rounds
	i protocol.Rank
}

func (h *host) Machine() (protocol.Machine, protocol.Incarnate) { return h.r.machines[h.i], nil }

func (h *host) View(_ protocol.Time, v *protocol.View) {
	old := &h.r.trusts[h.i]
	if *old != protocol.Nobody && *old != v.Leader.Rank {
		h.r.changes++
	}
	*old = v.Leader.Rank
}

func (h *host) Send(_ protocol.Time, out []protocol.Envelope) {
	for k := range out {
		if q, ok := out[k].Message.(*timefree.Query); ok {
			h.r.asked[h.i] = q.Copy().(*timefree.Query)
			return
		}
	}
}

func (h *host) Facts(_ protocol.Time, facts []protocol.Fact) {
	for k := range facts {
		if f := &facts[k]; f.Ev == counter.EvRound {
			h.r.lost[h.i] = h.r.lost[h.i].Union(protocol.Everyone(h.r.n).Minus(f.Members))
		}
	}
}

// An answerer keeps the answer to a query.
type answerer struct {
	drive.Ignore
	machine protocol.Machine
	answer  protocol.Message
}

func (h *answerer) Machine() (protocol.Machine, protocol.Incarnate) { return h.machine, nil }

func (h *answerer) Send(_ protocol.Time, out []protocol.Envelope) {
	for k := range out {
		if a, ok := out[k].Message.(*timefree.Response); ok {
			h.answer = a.Copy()
		}
	}
}

// round lets all queries that are open be answered, and the next ones begin.
func (r *rounds) round() {
	for i := range protocol.Rank(r.n) {
		r.dice.Shuffle(r.n, func(a, b int) { r.order[a], r.order[b] = r.order[b], r.order[a] })
		for _, j := range r.order {
			if i != j {
				r.answer(i, j)
			}
		}
	}
	r.now = r.now.Add(time.Second)
	for i := range protocol.Rank(r.n) {
		r.step(i, protocol.Tick{})
	}
}

// answer lets j answer the query of i.
func (r *rounds) answer(i, j protocol.Rank) {
	r.in = protocol.Receive{From: protocol.Ident{Rank: i, Inc: 1}, Message: r.asked[i], Delay: protocol.Unknown}
	h := &answerer{machine: r.machines[j]}
	r.executor.Step(h, r.now, &r.in)
	if h.answer != nil {
		r.in = protocol.Receive{From: protocol.Ident{Rank: j, Inc: 1}, Message: h.answer, Delay: protocol.Unknown}
		r.step(i, &r.in)
	}
}

// survived says whether some member never lost the answer of some other.
func (r *rounds) survived() bool {
	for i := range r.lost {
		if r.lost[i].Len() < r.n-1 {
			return true
		}
	}
	return false
}

// sigmas returns how many standard errors a share measured in so many trials is away from its probability.
func sigmas(p, measured float64, trials int) float64 {
	if p == measured {
		return 0
	}
	return (measured - p) / math.Sqrt(p*(1-p)/float64(trials))
}

// tail returns the probability that of so many trials, each of which succeeds with probability p, as many succeed as did, or a number
// on the same side of the mean and further off.
func tail(trials, held int, p float64) float64 {
	first, last := 0, held
	if float64(held) > p*float64(trials) {
		first, last = held, trials
	}
	sum := 0.0
	for k := first; k <= last; k++ {
		sum += binomial(trials, k, p)
	}
	return sum
}

// binomial returns the probability of exactly k successes.
func binomial(n, k int, p float64) float64 {
	if p == 0 || p == 1 {
		if (p == 1) == (k == n) && (p == 0) == (k == 0) {
			return 1
		}
		return 0
	}
	log := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
