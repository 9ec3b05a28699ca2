package suite

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// guarded returns a council of three with guardians that notice a death within a millisecond, and its checkers.
func guarded(t *testing.T, seed uint64, ports, guardians bool) (*sim.World, []check.Checker) {
	t.Helper()
	p, err := Lookup("stack " + productionElector)
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{Members: 3, Seed: seed, Spawn: p.Spawn, Groups: p.Groups[:1], Link: sim.Link{Delay: sim.Between(time.Millisecond, 3*time.Millisecond)},
		Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 3*time.Millisecond), Again: sim.Between(1, 20*time.Millisecond)}}
	p.Configure(&c)
	if ports {
		c.Port = p.Port
	}
	if guardians {
		c.Guardian = sim.GuardianSpec{Message: func(r obituary.Report) protocol.Message { return died(&r) }, Detect: sim.Between(1, time.Millisecond), Repeat: 10,
			Every: sim.Between(4*time.Millisecond, 6*time.Millisecond)}
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	all := check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(3), Longest: time.Second, Seed: 1, Travel: sim.Between(0, 50*time.Millisecond)})
	for _, one := range all {
		w.Observe(one)
	}
	return w, all
}

// pass lets a world run on.
func pass(t *testing.T, w *sim.World, d time.Duration) {
	t.Helper()
	if err := w.Run(w.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
}

// leading returns the member that leads by its own view.
func leading(w *sim.World) protocol.Rank {
	for r := range protocol.Rank(w.Members()) {
		for _, v := range w.Views(r) {
			if v.Domain == protocol.Quorum && v.Leader == w.Ident(r) {
				return r
			}
		}
	}
	return protocol.Nobody
}

// failover kills the leader and returns how long the group is without one.
func failover(t *testing.T, w *sim.World) time.Duration {
	t.Helper()
	begun := w.Now()
	w.Begin(sim.Fault{Kind: sim.Crash, A: sim.TheLeader, B: protocol.Nobody, For: 500 * time.Millisecond})
	for leading(w) == protocol.Nobody && w.Now().Sub(begun) < 2*time.Second {
		pass(t, w, time.Millisecond)
	}
	return w.Now().Sub(begun)
}

func TestReportedDeathIsSeveralTimesFasterThanTheLease(t *testing.T) {
	for _, ports := range []bool{false, true} {
		var took [2]time.Duration
		for i, guardians := range []bool{false, true} {
			for seed := range uint64(10) {
				w, all := guarded(t, seed+1, ports, guardians)
				pass(t, w, 2*time.Second)
				took[i] += failover(t, w)
				pass(t, w, 2*time.Second)
				for _, one := range all {
					if err := one.Finish(); err != nil {
						t.Errorf("seed %d: %v", seed+1, err)
					}
				}
			}
		}
		if took[0] < 4*took[1] {
			t.Errorf("ports %v: ten failovers take %v, and with guardians %v: want at most a quarter", ports, took[0], took[1])
		}
	}
}

// proofs counts the proofs that stand when their leader dies.
type proofs struct {
	last  sim.Real
	stand int
}

func (p *proofs) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvVerify:
		p.last = r.T
	case sim.EvCrash:
		if r.T.Sub(p.last) < 20*time.Millisecond {
			p.stand++
		}
	}
	return nil
}

// The checkers see to it that nobody leads while a proof stands. Here the dead leader has always given one that stands for a while.
func TestGuardianWaitsForTheProofsOfTheDead(t *testing.T) {
	counts := &proofs{}
	for seed := range uint64(10) {
		w, _ := guarded(t, seed+1, seed%2 == 1, true)
		w.Observe(counts)
		pass(t, w, 2*time.Second)
		for range 10 {
			leader := leading(w)
			if leader == protocol.Nobody {
				break
			}
			w.Begin(sim.Fault{Kind: sim.Verify, A: (leader + 1) % 3, B: protocol.Nobody, Group: "blue", Amount: int64(100 * time.Millisecond)})
			pass(t, w, 10*time.Millisecond)
		}
		failover(t, w)
		pass(t, w, time.Second)
	}
	if counts.stand < 5 {
		t.Errorf("a proof stood in %d of 10 runs when its leader died", counts.stand)
	}
}
