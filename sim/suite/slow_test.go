package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The simulated timing assumes round trips of 20 ms, for leases of 200 ms that are renewed every 50 ms. So a leader can stay while round trips take less than
// 150 ms. In these runs they first take up to 1.2 s, and nobody can lead. Then they take up to 130 ms, with drifting clocks and a leader that dies now
// and then. N-EE holds: somebody leads soon. Members send a bounded number of packets all the time.
func TestSlowNetworkElectsAsSoonAsRoundTripsAllowIt(t *testing.T) {
	const bound = 6 * time.Second
	for _, name := range []string{"nerio", "stack"} {
		p := lookup(t, name)
		for seed := range few(20) {
			d := sim.NewDice(seed, 0x510)
			far := d.Between(150*time.Millisecond, 600*time.Millisecond)
			w, _ := council(t, p, func(c *sim.Config) {
				c.Members, c.Seed = 5, seed
				c.Disk = sim.Between(0, 5*time.Millisecond)
				for range 5 {
					c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
				}
			})
			all := check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(5), Longest: time.Second, Groups: p.Groups[:1], Bound: bound, Seed: seed,
				Travel: sim.Between(0, 50*time.Millisecond)})
			for _, c := range all {
				w.Observe(c)
			}
			// packets runs the world for a while and returns how many packets a member sent in a second.
			packets := func(length time.Duration) float64 {
				was := w.Stats().Sent
				if err := w.Run(w.Now().Add(length)); err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				return float64(w.Stats().Sent-was) / 5 / length.Seconds()
			}
			slow := func(least, most time.Duration) {
				w.Relink(func(_, _ protocol.Rank, l sim.Link) sim.Link {
					l.Delay = sim.Between(least, most)
					return l
				})
			}
			packets(time.Second)
			slow(far/3, far)
			packets(3 * time.Second)
			// The electors of simulated stacks send more than that by themselves.
			if n := packets(10 * time.Second); name == "nerio" && n > 200 {
				t.Errorf("%s, seed %d: %.0f packets a second from each member while nobody can lead", name, seed, n)
			}
			slow(20*time.Millisecond, 65*time.Millisecond)
			w.Phase(sim.Liveness, protocol.Everyone(5))
			for range 4 {
				if n := packets(8 * time.Second); name == "nerio" && n > 100 {
					t.Errorf("%s, seed %d: %.0f packets a second from each member", name, seed, n)
				}
				w.Begin(sim.Fault{Kind: sim.Crash, A: sim.TheLeader, B: protocol.Nobody, For: d.Between(0, time.Second), Disk: sim.Kept})
			}
			packets(8 * time.Second)
			for _, c := range all {
				if err := c.Finish(); err != nil {
					t.Errorf("%s, seed %d: %v", name, seed, err)
				}
			}
		}
	}
}
