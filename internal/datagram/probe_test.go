package datagram

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// run lets the members do nothing but probe, for d, with the given delay, and calls on for each probe.
func (w *cluster) run(d, delay time.Duration, on func(from, to int)) {
	for end := w.real + d; w.real < end; w.pass(ms) {
		for i, e := range w.e {
			if w.clock(i) < e.Wake() {
				continue
			}
			for _, r := range append([]protocol.Rank(nil), e.Probes(w.clock(i))...) {
				h := w.stamp(i, int(r))
				if on != nil {
					on(i, int(r))
				}
				w.pass(delay)
				w.accept(int(r), h)
				w.pass(-delay)
			}
		}
	}
}

func TestEverybodyIsGreetedAtTheStart(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	if w.e[1].Wake() > w.clock(1) {
		t.Fatal("nothing is due at the start")
	}
	if due := w.e[1].Probes(w.clock(1)); len(due) != 2 || due[0] != 0 || due[1] != 2 {
		t.Fatalf("due to %v, want to 0 and 2 in order", due)
	}
}

// E-H9: members that say nothing to one another keep proving short bounds.
func TestSilentPairsKeepTheirBounds(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	w.run(time.Hour, ms, nil)
	for i := range 3 {
		for j := range 3 {
			if i == j {
				continue
			}
			if v := w.send(i, j, ms); v.Reason != Accepted || !w.e[j].Fast(v.Delay) {
				t.Fatalf("after an hour in which nothing was said, %d to %d: %+v", i, j, v)
			}
		}
	}
}

func TestProbesKeepToTheirRates(t *testing.T) {
	w := newTown(t, 1, 1)
	w.run(time.Second, ms, nil)
	n := 0
	w.run(10*time.Second, ms, func(_, _ int) { n++ })
	// Half of 1.25 s, both ways: 32 and no more than a few.
	if n < 30 || n > 36 {
		t.Fatalf("%d probes of a silent pair in 10 s, want about 32", n)
	}
}

func TestTalkativePairNeedsNoProbes(t *testing.T) {
	w := newTown(t, 1, 1)
	w.run(time.Second, ms, nil)
	for range 100 {
		w.send(0, 1, ms)
		w.send(1, 0, ms)
		w.run(100*ms, ms, func(from, to int) { t.Fatalf("a probe from %d to %d", from, to) })
	}
}

// Whatever comes in, probes to one peer are 10 ms apart.
func TestStormOfStrangersIsAnsweredSlowly(t *testing.T) {
	w := newTown(t, 1, 1)
	w.run(time.Second, ms, nil)
	n := 0
	for range 1000 {
		h := w.stamp(0, 1)
		h.Echo, h.To.Inc = Echo{}, 0
		w.accept(1, h)
		if w.clock(1) >= w.e[1].Wake() {
			for range w.e[1].Probes(w.clock(1)) {
				w.stamp(1, 0)
				n++
			}
		}
		w.pass(ms)
	}
	if n < 90 || n > 101 {
		t.Fatalf("%d probes in a second, want about 100", n)
	}
}

func TestSpuriousTicksProbeNobody(t *testing.T) {
	w := newTown(t, 1, 1)
	w.run(time.Second, ms, nil)
	w.send(0, 1, ms)
	for range 50 {
		if due := w.e[0].Probes(w.clock(0)); len(due) != 0 {
			t.Fatalf("due to %v", due)
		}
		w.pass(ms)
	}
}
