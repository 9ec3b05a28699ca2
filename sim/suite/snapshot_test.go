package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Virtual machines go on from snapshots of any age while they run, at random: of any member, the leader more often than others, with
// packets as on a real wire in a third of the runs. What a member did since the snapshot it has forgotten, and the others have not.
func TestRandomSnapshotsNeverDoHarm(t *testing.T) {
	restored, taken, recovered := 0, 0, 0
	for seed := range few(60) {
		d := sim.NewDice(seed, 0x5a9)
		n := 3 + d.N(3)
		p := lookup(t, "nerio")
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			c.Link = sim.Link{Delay: sim.Between(100*time.Microsecond, 8*time.Millisecond), Loss: sim.Percent(int64(d.N(3))), Duplicate: sim.Percent(int64(d.N(5)))}
			c.Disk = sim.Between(0, 5*time.Millisecond)
			c.Program.Again = sim.Between(time.Millisecond, 100*time.Millisecond)
			for range n {
				c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
			}
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) { return nerio.New(suite.NerioConfig(b), b.Record, b.Seed) }
			if d.N(3) == 0 {
				c.Port = p.Port
			}
		})
		for _, c := range all {
			w.Observe(c)
		}
		asks := make(map[protocol.Rank]bool)
		w.Observe(observer(func(r *sim.Record) {
			switch {
			case r.Ev == protocol.EvWait && r.Why == "restored snapshot":
				restored++
				asks[r.Node] = true
			case r.Ev == protocol.EvSpeak && asks[r.Node]:
				recovered++
				asks[r.Node] = false
			}
		}))
		at := sim.Real(time.Second)
		for range 12 {
			who := protocol.Rank(d.N(n))
			if d.N(2) == 0 {
				who = sim.TheLeader
			}
			age := d.Between(time.Millisecond, 2*time.Second)
			w.Schedule(sim.Fault{At: at, Kind: sim.Snapshot, A: who, B: protocol.Nobody, For: age},
				sim.Fault{At: at.Add(d.Between(0, time.Second)), Kind: sim.Resign, A: sim.TheLeader, B: protocol.Nobody, Group: p.Groups[0]})
			taken++
			at = at.Add(d.Between(300*time.Millisecond, 1500*time.Millisecond))
		}
		if err := w.Run(at.Add(4 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
	}
	if restored < taken/2 || recovered < restored*9/10 {
		t.Errorf("of %d snapshots %d were restored, and %d members recovered", taken, restored, recovered)
	}
	t.Logf("of %d snapshots %d were restored; the others met a member that asked", taken, restored)
}
