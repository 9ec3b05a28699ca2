package lab

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// A round of chance is one in which each member asks once, and all answers arrive in an order drawn by lot.
type rounds struct {
	n        int
	dice     *rand.Rand
	now      protocol.Time
	machines []*counter.Machine
	effects  []protocol.Effects
	// asked are the open queries. lost collects, for each member, whose answers it has lost so far.
	asked []*timefree.Query
	lost  []protocol.Set
	in    protocol.Receive
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
		r.effects = append(r.effects, protocol.Effects{})
		r.order = append(r.order, i)
		r.trusts = append(r.trusts, protocol.Nobody)
		r.take(i, r.step(i, protocol.Start{}))
	}
	return nil
}

// step lets a machine take an event.
func (r *rounds) step(i protocol.Rank, ev protocol.Event) *protocol.Effects {
	e := &r.effects[i]
	e.Reset()
	r.machines[i].Step(r.now, ev, e)
	return e
}

// take notes a query that a machine sent, and who lost if one of its own has ended.
func (r *rounds) take(i protocol.Rank, e *protocol.Effects) {
	for k := range e.Send {
		if q, ok := e.Send[k].Message.(*timefree.Query); ok {
			r.asked[i] = q.Copy().(*timefree.Query)
			break
		}
	}
	for k := range e.Views {
		leader := e.Views[k].Leader.Rank
		if r.trusts[i] != protocol.Nobody && r.trusts[i] != leader {
			r.changes++
		}
		r.trusts[i] = leader
	}
	for k := range e.Facts {
		if f := &e.Facts[k]; f.Ev == counter.EvRound {
			r.lost[i] = r.lost[i].Union(protocol.Everyone(r.n).Minus(f.Members))
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
		r.take(i, r.step(i, protocol.Tick{}))
	}
}

// answer lets j answer the query of i.
func (r *rounds) answer(i, j protocol.Rank) {
	r.in = protocol.Receive{From: protocol.Ident{Rank: i, Inc: 1}, Message: r.asked[i], Delay: protocol.Unknown}
	e := r.step(j, &r.in)
	for k := range e.Send {
		if a, ok := e.Send[k].Message.(*timefree.Response); ok {
			r.in = protocol.Receive{From: protocol.Ident{Rank: j, Inc: 1}, Message: a.Copy(), Delay: protocol.Unknown}
			r.take(i, r.step(i, &r.in))
		}
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
