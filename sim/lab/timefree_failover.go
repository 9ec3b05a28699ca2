package lab

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
)

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
		views := w.Views(r)
		if len(views) == 0 {
			return false
		}
		trusts := views[0].Leader.Rank
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
