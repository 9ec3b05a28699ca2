package suite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/suite"
)

// gaps counts leases that expire, and configurations.
type gaps struct {
	steps   int
	expired []string
}

// Observe looks at the ends of leases.
func (g *gaps) Observe(r *sim.Record) error {
	switch {
	case r.Ev == protocol.EvChosen:
		g.steps++
	case r.Ev == protocol.EvStepdown && r.Why == "expired":
		g.expired = append(g.expired, fmt.Sprintf("%v at %v", r.Node, r.T))
	}
	return nil
}

// C-GAP: while all is well no lease expires because of a change, where the lease covers a renewal, six trips and two writes.
func TestNoLeaseExpiresBecauseOfAChange(t *testing.T) {
	p, err := suite.Lookup("council")
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for seed := range effort.Pick[uint64](1, 12, 200) {
		c := sim.Config{Members: 6, Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Link: sim.Link{Delay: sim.Between(time.Millisecond, 8*time.Millisecond)},
			Disk: sim.Between(time.Millisecond, 20*time.Millisecond), Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 20*time.Millisecond),
				Stop: sim.Between(time.Millisecond, 20*time.Millisecond), Again: sim.Between(time.Millisecond, 100*time.Millisecond)}}
		p.Configure(&c)
		w, err := sim.New(c)
		if err != nil {
			t.Fatal(err)
		}
		g := &gaps{}
		w.Observe(g)
		for _, k := range p.Checkers(w) {
			w.Observe(k)
		}
		// All members are replaced one by one; whoever is one is asked.
		for i, side := range [][]protocol.Rank{{0, 1, 2, 3}, {1, 2, 3}, {2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5}, {3}, {3, 4, 5}} {
			for r := range protocol.Rank(6) {
				w.Schedule(sim.Fault{Kind: sim.Change, A: r, B: protocol.Nobody, Side: protocol.NewSet(side...), Amount: int64(i % 3),
					At: sim.Real(2*time.Second + time.Duration(i)*5*time.Second)})
			}
		}
		if err := w.Run(sim.Real(36 * time.Second)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		steps += g.steps
		if len(g.expired) > 0 {
			t.Errorf("C-GAP violated: seed %d: leases expired in %d steps: %v", seed, g.steps, g.expired)
		}
	}
	t.Logf("%d steps", steps)
	if steps < 20 && !effort.Raced() {
		t.Errorf("%d steps only", steps)
	}
}
