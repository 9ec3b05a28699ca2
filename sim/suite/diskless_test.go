package suite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// All members of a council without disks crash while leases run, and come back at once. Each of them may begin a council, and no member knows
// what it has promised. The program of a leader may outlive the crash, so leases and promises of before count until they
// end. Tokens begin anew, which is why their checkers are left out.
func TestLeasesOutliveTheRestartOfAllDisklessMembers(t *testing.T) {
	begun, crashed := 0, 0
	for seed := range few(40) {
		d := sim.NewDice(seed, 0xd15c)
		n := 1 + d.N(5)
		p := lookup(t, "nerio")
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			for range n {
				c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
			}
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
				cfg := suite.NerioConfig(b)
				cfg.Diskless, cfg.Bootstrap = true, true
				return nerio.New(cfg, b.Record, b.Seed)
			}
		})
		for _, c := range all {
			if slices.Contains([]string{"N-LU", "N-14"}, c.Name()) {
				w.Observe(c)
			}
		}
		w.Observe(observer(func(r *sim.Record) {
			if r.Ev == protocol.EvSpeak && r.Why == "bootstrap" {
				begun++
			}
		}))
		at := sim.Real(5 * time.Second)
		for range 4 {
			for r := range protocol.Rank(n) {
				w.Schedule(sim.Fault{At: at.Add(d.Between(0, 5*time.Millisecond)), Kind: sim.Crash, A: r, B: protocol.Nobody, For: d.Between(10*time.Millisecond, 50*time.Millisecond), Disk: sim.Kept})
				crashed++
			}
			at = at.Add(d.Between(2*time.Second, 5*time.Second))
		}
		if err := w.Run(at.Add(5 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
	}
	if begun < crashed/2 {
		t.Errorf("members began a council %d times after %d crashes: nothing was shown", begun, crashed)
	}
}
