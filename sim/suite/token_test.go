package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// All members crash at once, or leave in good order at once, at any instant, over and over. Nobody is left to ask: what they have on disk is all that they
// know of tokens. Ceilings are one to three terms ahead, disks are slow, and leaders resign often, so that many answers wait for a ceiling.
func TestTokensSurviveTheEndOfAllMembers(t *testing.T) {
	held := 0
	for seed := range few(40) {
		d := sim.NewDice(seed, 0x70c)
		n := 3 + d.N(3)
		p := lookup(t, "nerio")
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			c.Disk = sim.Between(0, d.Between(time.Millisecond, 60*time.Millisecond))
			c.Program.Again = sim.Between(time.Millisecond, 50*time.Millisecond)
			for range n {
				c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
			}
			ahead := uint64(1 + d.N(3))
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
				cfg := suite.NerioConfig(b)
				cfg.LeastAhead = ahead
				return nerio.New(cfg, b.Record, b.Seed)
			}
		})
		for _, c := range all {
			w.Observe(c)
		}
		leaderships := 0
		w.Observe(observer(func(r *sim.Record) {
			if r.Ev == protocol.EvLease && r.Why == "" {
				leaderships++
			}
		}))
		at := sim.Real(time.Second)
		for range 8 {
			for range 10 {
				w.Schedule(sim.Fault{At: at, Kind: sim.Resign, A: sim.TheLeader, B: protocol.Nobody, Group: p.Groups[0]},
					sim.Fault{At: at.Add(20 * time.Millisecond), Kind: sim.Campaign, A: protocol.Rank(d.N(n)), Group: p.Groups[0]})
				at = at.Add(d.Between(20*time.Millisecond, 150*time.Millisecond))
			}
			kind, spread := sim.Crash, time.Duration(d.N(2))*5*time.Millisecond
			if d.N(3) == 0 {
				kind = sim.Leave
			}
			for r := range protocol.Rank(n) {
				w.Schedule(sim.Fault{At: at.Add(d.Between(0, spread)), Kind: kind, A: r, B: protocol.Nobody, For: 10*time.Millisecond + spread, Disk: sim.Kept, Amount: int64(600 * time.Millisecond)})
			}
			at = at.Add(time.Second)
		}
		if err := w.Run(at.Add(2 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
		held += leaderships
	}
	if held < 100 {
		t.Errorf("%d leaderships: nothing was shown", held)
	}
	t.Logf("%d leaderships", held)
}
