package datagram

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// floodOdds is how few datagrams of starts that a member has not heard its kernel lets in during a flood: one in so many.
const floodOdds = 64

// A member that starts again is heard within seconds by one whose kernel lets in few datagrams of starts that were not heard, whatever the timing of the council is. No machine has
// anything to say, which is the worst case. The first member may have lost its incarnation, and then learns it.
func TestMemberThatStartsDuringAFloodIsHeard(t *testing.T) {
	for _, delta := range []time.Duration{2 * ms, 10 * ms, 500 * ms} {
		for _, inc := range []protocol.Inc{0, 2} {
			var sum, longest time.Duration
			const runs = 40
			for seed := range uint64(runs) {
				took := heardAfter(t, delta, inc, rand.New(rand.NewPCG(seed, 1)))
				sum, longest = sum+took, max(longest, took)
			}
			if mean := sum / runs; mean > 4*time.Second || longest > 20*time.Second {
				t.Errorf("Δ %v, incarnation %d: heard after %v on average, and %v at most", delta, inc, mean, longest)
			}
		}
	}
}

// heardAfter returns how long after its start in an incarnation the first member is heard by the second, which is under a flood.
func heardAfter(t *testing.T, delta time.Duration, inc protocol.Inc, random *rand.Rand) time.Duration {
	w := &cluster{t: t, real: time.Hour, offset: make([]protocol.Time, 2), e: make([]*Endpoint, 2)}
	start := func(i int, inc protocol.Inc) {
		var err error
		w.starts++
		w.e[i], err = New(w.clock(i), Config{Self: protocol.Ident{Rank: protocol.Rank(i), Inc: inc}, Members: 2, Start: Start{w.starts}, Rho: rho, Delta: delta})
		if err != nil {
			t.Fatal(err)
		}
	}
	start(0, 1)
	start(1, 1)
	w.meet(0, 1)
	start(0, inc)
	began, heard := w.real, false
	for ; !heard; w.pass(ms) {
		if w.real > began+time.Hour {
			t.Fatal("not heard within an hour")
		}
		for i, e := range w.e {
			if w.clock(i) < e.Wake() {
				continue
			}
			for _, to := range append([]protocol.Rank(nil), e.Probes(w.clock(i))...) {
				h := w.stamp(i, int(to))
				if i == 0 && random.IntN(floodOdds) != 0 {
					continue
				}
				w.pass(delta / 4)
				v := w.accept(int(to), h)
				heard = heard || i == 0 && (v.Reason == Accepted || v.Reason == OtherIncarnation)
			}
		}
	}
	return w.real - began
}

// Greetings end as soon as the peer knows the start, and after a while if it is down.
func TestGreetingsEnd(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	count := func(d time.Duration, heard bool) (n int) {
		for end := w.real + d; w.real < end; w.pass(ms) {
			if w.clock(0) < w.e[0].Wake() {
				continue
			}
			for _, to := range append([]protocol.Rank(nil), w.e[0].Probes(w.clock(0))...) {
				h := w.stamp(0, int(to))
				if to == 1 {
					n++
				}
				if heard && to == 1 {
					w.accept(1, h)
					w.send(1, 0, ms)
				}
			}
		}
		return n
	}
	if n := count(time.Second, false); n < 30 || n > 35 {
		t.Errorf("%d greetings in the first second", n)
	}
	count(greetFor, false)
	if n := count(10*time.Second, false); n < 10 || n > 20 {
		t.Errorf("%d greetings in 10 s to a peer that is down", n)
	}
	w.start(0, 2)
	if n := count(10*time.Second, true); n > 25 {
		t.Errorf("%d datagrams in 10 s to a peer that answers", n)
	}
}
