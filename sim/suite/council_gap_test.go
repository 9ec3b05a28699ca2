package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// silence measures how close leases come to their ends around the steps of a change.
type silence struct {
	clock func(protocol.Rank) *sim.Clock
	ends  map[protocol.Rank]protocol.Time
	steps int
	least time.Duration
	where sim.Real
}

// Observe looks at the ends of leases as they move.
func (s *silence) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvChosen:
		s.steps++
	case protocol.EvLease:
		s.ends[r.Node] = r.Until
	case protocol.EvHorizon:
		if end, ok := s.ends[r.Node]; ok && r.Dom == protocol.Quorum {
			if left := end.Sub(s.clock(r.Node).At(r.T)); s.steps > 0 && left < s.least {
				s.least, s.where = left, r.T
			}
			s.ends[r.Node] = max(end, r.Until)
		}
	case protocol.EvStepdown, sim.EvCrash:
		delete(s.ends, r.Node)
	}
	return nil
}

// C-GAP: a step keeps a lease from being renewed for one write of a disk, not two: members that are in different configurations refuse
// each other, but all begin to write at once, and a voter that has caught up is asked at once.
func TestStepIsSilentForOneWrite(t *testing.T) {
	p, err := suite.Lookup("council")
	if err != nil {
		t.Fatal(err)
	}
	const (
		lease, renew = 200 * time.Millisecond, 50 * time.Millisecond
		trip, timers = 2 * time.Millisecond, 10 * time.Millisecond
	)
	for _, disk := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond} {
		for seed := range uint64(4) {
			c := sim.Config{Members: 6, Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Link: sim.Link{Delay: sim.Between(trip/2, trip)},
				Disk: sim.Between(disk, disk), Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 20*time.Millisecond),
					Stop: sim.Between(time.Millisecond, 20*time.Millisecond), Again: sim.Between(time.Millisecond, 100*time.Millisecond)}}
			p.Configure(&c)
			w, err := sim.New(c)
			if err != nil {
				t.Fatal(err)
			}
			s := &silence{clock: w.Clock, ends: make(map[protocol.Rank]protocol.Time), least: time.Hour}
			w.Observe(s)
			for i, side := range [][]protocol.Rank{{0, 1, 2, 3}, {0, 1, 2}, {0, 1, 2, 3, 4}} {
				for r := range protocol.Rank(6) {
					w.Schedule(sim.Fault{Kind: sim.Change, A: r, B: protocol.Nobody, Side: protocol.NewSet(side...), At: sim.Real(2*time.Second + time.Duration(i)*5*time.Second)})
				}
			}
			if err := w.Run(sim.Real(15 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if want := lease - renew - disk - 6*trip - timers; s.steps < 5 || s.least < want {
				t.Errorf("C-GAP: disks of %v, seed %d: %d steps, and %v were left of a lease at %v: want %v", disk, seed, s.steps, s.least, s.where, want)
			}
		}
	}
}
