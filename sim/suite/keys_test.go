package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// keyed makes a council that talks in sealed packets, or without packets and keys.
func keyed(t *testing.T, seed uint64, n int, ports bool) *sim.World {
	t.Helper()
	p := lookup(t, "nerio")
	w, all := council(t, p, func(c *sim.Config) {
		c.Members, c.Seed, c.Messages = n, seed, true
		c.Link = sim.Link{Delay: sim.Between(100*time.Microsecond, 4*time.Millisecond)}
		c.Program = sim.ProgramSpec{Act: sim.Between(time.Millisecond, 20*time.Millisecond), Again: sim.Between(time.Millisecond, 100*time.Millisecond), Reader: c.Program.Reader}
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) { return nerio.New(suite.NerioConfig(b), b.Record, b.Seed) }
		if ports {
			c.Port = p.Port
		}
	})
	for _, c := range all {
		w.Observe(c)
	}
	return w
}

// Keys are replaced at all members, again and again and at the same time, while all is well: no lease is lost.
func TestReplacedKeysCostNoLease(t *testing.T) {
	for seed := range few(20) {
		w := keyed(t, seed, 5, true)
		lost := 0
		w.Observe(observer(func(r *sim.Record) {
			if r.T > sim.Real(time.Second) && r.Ev == protocol.EvStepdown {
				lost++
			}
		}))
		for i := range 20 {
			w.Schedule(sim.Fault{At: sim.Real(time.Second + time.Duration(i)*300*time.Millisecond), Kind: sim.Rotate, A: protocol.Rank(i % 5), B: protocol.Nobody, For: 500 * time.Millisecond})
		}
		if err := w.Run(sim.Real(10 * time.Second)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if lost > 0 {
			t.Errorf("seed %d: %d leases were lost", seed, lost)
		}
	}
}

// A member that some or all others revoke is not heard by them, and hears nothing of them. What was promised stands: no two lead.
func TestRevokedMembersAreCutOff(t *testing.T) {
	for seed := range few(40) {
		d := sim.NewDice(seed, 0x4e7)
		n, ports := 3+d.N(3), d.N(2) == 0
		w := keyed(t, seed, n, ports)
		type pair struct{ of, by protocol.Rank }
		since := make(map[pair]sim.Real)
		heard := 0
		w.Observe(observer(func(r *sim.Record) {
			if r.Ev != sim.EvDeliver {
				return
			}
			sent := r.Detail.(sim.Delivery).Sent
			for _, p := range []pair{{r.Peer.Rank, r.Node}, {r.Node, r.Peer.Rank}} {
				if at, ok := since[p]; ok && sent > at {
					heard++
				}
			}
		}))
		at := sim.Real(time.Second)
		for range 10 {
			of := protocol.Rank(d.N(n))
			if d.N(2) == 0 {
				of = 0
			}
			by := (of + 1 + protocol.Rank(d.N(n-1))) % protocol.Rank(n)
			f := sim.Fault{Kind: sim.Revoke, A: of, B: by, For: d.Between(time.Millisecond, time.Second)}
			w.At(at, func() {
				w.Begin(f)
				since[pair{of, by}] = w.Now()
			})
			w.At(at.Add(f.For-1), func() { delete(since, pair{of, by}) })
			w.Schedule(sim.Fault{At: at.Add(d.Between(0, time.Second)), Kind: sim.Rotate, A: of, B: protocol.Nobody, For: d.Between(time.Millisecond, time.Second)},
				sim.Fault{At: at.Add(d.Between(0, time.Second)), Kind: sim.Crash, A: by, B: protocol.Nobody, For: d.Between(time.Millisecond, 300*time.Millisecond)})
			at = at.Add(f.For + d.Between(time.Millisecond, 500*time.Millisecond))
		}
		if err := w.Run(at.Add(2 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members, ports %v: %v", seed, n, ports, err)
		}
		if heard > 0 {
			t.Errorf("seed %d, %d members, ports %v: %d messages between members of which one had revoked the other", seed, n, ports, heard)
		}
		// All keys are right again.
		for r := range protocol.Rank(n) {
			if w.Ident(r).Inc == 0 {
				t.Errorf("seed %d: %v does not speak in the end", seed, r)
			}
		}
	}
}
