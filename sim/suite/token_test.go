package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// All members crash at once, or leave in good order at once, at any instant, over and over. A majority comes back before the others. Nobody is left to ask:
// what they have on disk is all that they know of tokens. Ceilings are one to three terms ahead, disks are slow, and leaders resign often, so that many answers wait for a ceiling.
func TestTokensSurviveTheEndOfAllMembers(t *testing.T) {
	led, left := 0, 0
	for seed := range few(40) {
		d := sim.NewDice(seed, 0x70c)
		n := 3 + d.N(3)
		p := lookup(t, "nerio")
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			slow := d.Between(time.Millisecond, 300*time.Millisecond)
			c.Disk = sim.Between(slow/2, slow)
			c.Program.Again = sim.Between(time.Millisecond, 50*time.Millisecond)
			for range n {
				c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
			}
			step := uint64(1 + d.N(3))
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
				cfg := suite.NerioConfig(b)
				cfg.TermStep = step
				return nerio.New(cfg, b.Record, b.Seed)
			}
		})
		for _, c := range all {
			w.Observe(c)
		}
		w.Observe(observer(func(r *sim.Record) {
			switch {
			case r.Ev == protocol.EvLease && r.Why == "":
				led++
			case r.Ev == sim.EvClose:
				left++
			}
		}))
		at := sim.Real(time.Second)
		for range 8 {
			for range 10 {
				w.Schedule(sim.Fault{At: at, Kind: sim.Resign, A: sim.TheLeader, B: protocol.Nobody, Group: p.Groups[0]},
					sim.Fault{At: at.Add(20 * time.Millisecond), Kind: sim.Campaign, A: protocol.Rank(d.N(n)), Group: p.Groups[0]})
				at = at.Add(d.Between(20*time.Millisecond, 150*time.Millisecond))
			}
			// As often as not a leader is new when they crash.
			end := sim.Fault{At: at.Add(-d.Between(0, 100*time.Millisecond)), Kind: sim.Crash, B: protocol.Nobody, For: 10 * time.Millisecond, Disk: sim.Kept}
			if d.N(3) == 0 {
				end.Kind, end.For, end.Amount = sim.Leave, time.Second, int64(900*time.Millisecond)
			}
			first := d.N(n)
			for i := range n {
				end.A = protocol.Rank((first + i) % n)
				if i == n/2+1 {
					end.For = 1500 * time.Millisecond
				}
				w.Schedule(end)
			}
			at = at.Add(2 * time.Second)
		}
		if err := w.Run(at.Add(2 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
	}
	if led < 20 || left < 3 {
		t.Errorf("%d leaderships, %d members left in good order: nothing was shown", led, left)
	}
	t.Logf("%d leaderships, %d members left in good order", led, left)
}
