package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// watcher is an observer made of a function.
type watcher func(*sim.Record)

func (w watcher) Observe(r *sim.Record) error { w(r); return nil }

// healed runs the members of a core over the links that a protocol assumes for so long, and shows the trace of the second
// half.
func healed(t *testing.T, p *suite.Protocol, seed uint64, members int, core protocol.Set, length time.Duration, see watcher) {
	t.Helper()
	w, err := sim.New(sim.Config{Members: members, Seed: seed, Spawn: p.Spawn, Down: protocol.Everyone(members).Minus(core)})
	if err != nil {
		t.Fatal(err)
	}
	w.Relink(p.Healed(seed, members, core))
	if err := w.Run(sim.Real(length / 2)); err != nil {
		t.Fatal(err)
	}
	w.Observe(see)
	if err := w.Run(sim.Real(length)); err != nil {
		t.Fatal(err)
	}
}

func TestLinksKeepTheOrderOfAnswers(t *testing.T) {
	p := tuned(t, "timefree")
	laggards, slow := 0, 0
	for seed := range uint64(60) {
		core := protocol.Everyone(5)
		if seed%3 == 0 {
			core.Remove(protocol.Rank(seed % 5))
		}
		always := map[protocol.Rank]protocol.Set{} // whose answers won every query of a member
		won := map[protocol.Rank]int{}
		rounds := 0
		healed(t, p, seed, 5, core, 10*time.Second, func(r *sim.Record) {
			if r.Ev != counter.EvRound {
				return
			}
			rounds++
			if before, ok := always[r.Node]; ok {
				always[r.Node] = before.Intersect(r.Members)
			} else {
				always[r.Node] = r.Members
			}
			for who := range r.Members.All() {
				won[who]++
			}
		})
		if len(always) != core.Len() {
			t.Errorf("seed %d: queries ended at %d members of %d", seed, len(always), core.Len())
		}
		if centre, cluster := bestCentre(always); cluster < 2 {
			t.Errorf("seed %d: the answers of nobody always won at two members: MP does not hold (%v: %d)", seed, centre, cluster)
		}
		if rounds < 100 {
			slow++
		}
		for who := range core.All() {
			if core.Len() == 5 && won[who] == rounds/5 { // at itself only
				laggards++
			}
		}
	}
	if laggards < 5 || slow < 5 {
		t.Errorf("of 60 seeds %d have a member that always loses, and %d are slow; want some of each", laggards, slow)
	}
}

// bestCentre returns who always won at most members, and at how many.
func bestCentre(always map[protocol.Rank]protocol.Set) (centre protocol.Rank, cluster int) {
	for p := range protocol.Rank(5) {
		n := 0
		for _, winners := range always {
			if winners.Has(p) {
				n++
			}
		}
		if n > cluster {
			centre, cluster = p, n
		}
	}
	return centre, cluster
}

func TestLinksFromASourceAreTimelyAndNoOthersNeedBe(t *testing.T) {
	p := tuned(t, "fsource")
	bad := 0
	for seed := range uint64(40) {
		core := protocol.Everyone(5)
		accusers := make([]protocol.Set, 5)
		healed(t, p, seed, 5, core, 20*time.Second, func(r *sim.Record) {
			if r.Ev == protocol.EvSuspect {
				accusers[r.Peer.Rank].Add(r.Node)
			}
		})
		source := false
		for r := range accusers {
			switch n := accusers[r].Len(); {
			case n == 4:
				bad++
			case n <= 3:
				source = true // it, and at least one that hears it in time
			}
		}
		if !source {
			t.Errorf("seed %d: everybody is accused by everybody: %v", seed, accusers)
		}
	}
	if bad < 20 {
		t.Errorf("of 40 seeds %d members are accused by all others, want some", bad)
	}
}

// TestElectorsOfTheFamilyWorkUnderAQuorum puts each of them under quorum leases: a leader is there soon, another when it
// crashes, and when the trusted member cannot gather a quorum.
func TestElectorsOfTheFamilyWorkUnderAQuorum(t *testing.T) {
	for _, name := range family {
		p := tuned(t, name)
		w, err := sim.New(sim.Config{Members: 5, Seed: 7, Groups: []protocol.Group{"g"},
			Program: sim.ProgramSpec{Act: sim.Between(ms, 2*ms), Again: sim.Between(ms, 5*ms)},
			Spawn: func(b sim.Boot) (protocol.Machine, error) {
				c := suite.NerioConfig(b)
				c.Elector = true
				m, err := nerio.New(c, b.Record, b.Seed)
				if err != nil {
					return nil, err
				}
				return stack.New(stack.Config{Self: b.Self, Roles: stack.Roles{Members: b.Members}}, m, func(inc protocol.Inc, _ *stack.Shape) (protocol.Machine, error) {
					b.Inc = inc
					return p.Spawn(b)
				})
			}})
		if err != nil {
			t.Fatal(err)
		}
		run := func(d time.Duration) {
			t.Helper()
			if err := w.Run(w.Now().Add(d)); err != nil {
				t.Fatal(err)
			}
		}
		run(3 * time.Second)
		first := leads(w)
		if first == protocol.Nobody {
			t.Fatalf("%s: nobody leads after three seconds", name)
		}
		w.Begin(sim.Fault{Kind: sim.Crash, A: first, B: protocol.Nobody})
		run(3 * time.Second)
		second := leads(w)
		if second == protocol.Nobody || second == first {
			t.Errorf("%s: %v crashed and %v leads", name, first, second)
		}
		trusted := protocol.Nobody
		for _, v := range w.Views(second) {
			if v.Domain == protocol.Elector {
				trusted = v.Leader.Rank
			}
		}
		if trusted != second {
			t.Errorf("%s: %v leads, but trusts %v", name, second, trusted)
		}
		w.Command(second, protocol.Unfit{})
		run(100 * ms)
		if leads(w) != second {
			t.Errorf("%s: a leader with a quorum lost it by a word to its elector", name)
		}
	}
}

// leads returns who leads by a lease.
func leads(w *sim.World) protocol.Rank {
	for r := range protocol.Rank(w.Members()) {
		for _, v := range w.Views(r) {
			if v.Domain == protocol.Quorum && v.Leader.Rank == r {
				return r
			}
		}
	}
	return protocol.Nobody
}

// TestPlainProtocolConvergesToo runs the paper's own protocol under what it assumes.
func TestPlainProtocolConvergesToo(t *testing.T) {
	for _, name := range family {
		p := tuned(t, name, "plain=true")
		for seed := range uint64(20) {
			core := protocol.Everyone(5).Without(protocol.Rank(seed % 5))
			w, err := sim.New(sim.Config{Members: 5, Seed: seed, Spawn: p.Spawn})
			if err != nil {
				t.Fatal(err)
			}
			o := check.NewEventual(w, 20*time.Second)
			w.Observe(o)
			if err := w.Run(sim.Real(3 * time.Second)); err != nil {
				t.Fatal(err)
			}
			w.Begin(sim.Fault{Kind: sim.Crash, A: protocol.Rank(seed % 5), B: protocol.Nobody})
			w.Relink(p.Healed(seed, 5, core))
			w.Phase(sim.Liveness, core)
			if err := w.Run(sim.Real(60 * time.Second)); err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
			}
			if err := o.Finish(); err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
			}
		}
	}
}
