package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// stepTimes measures how long steps take that wait for no newcomer and no handover: from the request, or from when all members had settled in the
// configuration before, until all have settled.
type stepTimes struct {
	begun   sim.Real
	number  uint64
	settled map[protocol.Rank]bool
	took    []time.Duration
}

// Observe follows configurations.
func (s *stepTimes) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvChosen:
		if r.Seq > s.number {
			s.number, s.settled = r.Seq, make(map[protocol.Rank]bool)
		}
	case protocol.EvSettle:
		if r.Seq == s.number && s.number > 0 && !s.settled[r.Node] {
			s.settled[r.Node] = true
			if len(s.settled) == stepMembers {
				s.took, s.begun = append(s.took, r.T.Sub(s.begun)), r.T
			}
		}
	}
	return nil
}

const stepMembers = 3

// A step takes four round trips, four writes of a disk, one renewal interval and the longest promise that stands, at most.
func TestAStepTakesItsBoundAtMost(t *testing.T) {
	p, err := suite.Lookup("council")
	if err != nil {
		t.Fatal(err)
	}
	const (
		lease, renew = 200 * time.Millisecond, 50 * time.Millisecond
		trip, disk   = 4 * time.Millisecond, 10 * time.Millisecond
		asked        = sim.Real(2 * time.Second)
	)
	bound := 4*trip + 4*disk + renew + protocol.DefaultRho.WaitAtLeast(lease)
	var longest time.Duration
	for seed := range uint64(20) {
		c := sim.Config{Members: stepMembers, Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Link: sim.Link{Delay: sim.Between(trip/4, trip/2)},
			Disk: sim.Between(disk/2, disk), Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 20*time.Millisecond),
				Stop: sim.Between(time.Millisecond, 20*time.Millisecond), Again: sim.Between(time.Millisecond, 100*time.Millisecond)}}
		p.Configure(&c)
		w, err := sim.New(c)
		if err != nil {
			t.Fatal(err)
		}
		s := &stepTimes{begun: asked}
		w.Observe(s)
		everybody := protocol.NewSet(0, 1, 2)
		w.Schedule(sim.Fault{Kind: sim.Change, A: protocol.Rank(seed % stepMembers), B: protocol.Nobody, Side: everybody, Amount: 1, At: asked})
		if err := w.Run(sim.Real(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(s.took) == 0 {
			t.Fatalf("seed %d: no step was taken", seed)
		}
		for _, took := range s.took {
			longest = max(longest, took)
			if took > bound {
				t.Errorf("seed %d: a step took %v: want %v at most", seed, took, bound)
			}
		}
	}
	t.Logf("the longest step took %v of %v", longest, bound)
}
