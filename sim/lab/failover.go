package lab

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
)

// Failover is how long a dead leader was trusted after it had led for a while.
type Failover struct {
	// History is for how many rounds it had led.
	History int `json:"history"`
	// Plain, Leap and Patient are how many rounds passed until all others agreed on another: in the paper's protocol, with
	// leapfrog, and with leapfrog and patience.
	Plain   int `json:"plain"`
	Leap    int `json:"leap"`
	Patient int `json:"patient"`
}

// MeasureFailover lets a member whose answers always win lead four others for so many rounds each, with answers in random
// order among the others, and kills it (n = 5, f = 2).
func MeasureFailover(seed uint64, histories ...int) ([]Failover, error) {
	var all []Failover
	for _, h := range histories {
		f := Failover{History: h}
		var err error
		for _, way := range []struct {
			rounds   *int
			plain    bool
			patience int
		}{{&f.Plain, true, 1}, {&f.Leap, false, 1}, {&f.Patient, false, patience}} {
			*way.rounds, err = depose(h, way.plain, way.patience, seed)
			if err != nil {
				return nil, err
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// patience is h where there is some.
const patience = 8

// depose measures one fail-over in rounds.
func depose(history int, plain bool, h int, seed uint64) (int, error) {
	const n, period = 5, 100 * time.Millisecond
	w, err := sim.New(sim.Config{
		Members: n, Seed: seed,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			c := timefree.Default(b.Self, n, b.Inc)
			c.F, c.Plain, c.Patience, c.Period, c.Report, c.Limit = 2, plain, h, period, 0, 0
			return timefree.New(c)
		},
		Links: func(from, to protocol.Rank) sim.Link {
			if from == 0 || to == 0 {
				return sim.Link{Delay: sim.Between(time.Millisecond, 2*time.Millisecond)}
			}
			return sim.Link{Delay: sim.Between(5*time.Millisecond, 40*time.Millisecond)}
		},
	})
	if err != nil {
		return 0, err
	}
	tally := &tally{}
	w.Observe(tally)
	if err := w.Run(sim.Real(0).Add(period * time.Duration(history))); err != nil {
		return 0, err
	}
	for r := range protocol.Rank(n) {
		if leader := w.Views(r)[0].Leader.Rank; leader != 0 {
			return 0, fmt.Errorf("lab: %v trusts %v after %d rounds, though the answers of a always win", r, leader, history)
		}
	}
	w.Begin(sim.Fault{Kind: sim.Crash, A: 0, B: protocol.Nobody})
	tally.rounds = 0
	for tally.rounds < 4*(history+1000) {
		if err := w.Run(w.Now().Add(period / 4)); err != nil {
			return 0, err
		}
		if agree(w) {
			return (tally.rounds + n - 2) / (n - 1), nil
		}
	}
	return 0, fmt.Errorf("lab: a is trusted for more than %d rounds after its death", tally.rounds/(n-1))
}

// agree says whether all that are up trust the same member, which is up.
func agree(w *sim.World) bool {
	leader := protocol.Nobody
	for r := range protocol.Rank(w.Members()) {
		if !w.Up(r) {
			continue
		}
		trusts := w.Views(r)[0].Leader.Rank
		if leader == protocol.Nobody {
			leader = trusts
		}
		if trusts != leader || leader == protocol.Nobody || !w.Up(trusts) {
			return false
		}
	}
	return true
}

// tally counts queries that have ended.
type tally struct{ rounds int }

func (t *tally) Observe(r *sim.Record) error {
	if r.Ev == counter.EvRound {
		t.rounds++
	}
	return nil
}
