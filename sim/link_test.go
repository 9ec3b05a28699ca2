package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// received lets a send to b for ten seconds under a link and faults, and returns what b got.
func received(t *testing.T, l sim.Link, faults ...sim.Fault) []int {
	t.Helper()
	b := newBench(t, sim.Config{Seed: 1, Link: l}, sendEvery(ms))
	b.Schedule(faults...)
	b.until(10 * time.Second)
	return b.probes[1].notes()
}

func quick() sim.Link { return sim.Link{Delay: sim.Between(ms/2, ms)} }

func TestLinkDeliversEverythingOnce(t *testing.T) {
	got := received(t, quick())
	if len(got) < 9_990 {
		t.Errorf("SIM-LINK: %d of 10000 notes arrived", len(got))
	}
	for i, n := range got {
		if n != i+1 {
			t.Fatalf("SIM-LINK: note %d came as number %d: one was lost, doubled or overtaken for no reason", n, i+1)
		}
	}
}

func TestLossLosesItsShare(t *testing.T) {
	l := quick()
	l.Loss = sim.Percent(20)
	if got := len(received(t, l)); got < 7_800 || got > 8_200 {
		t.Errorf("SIM-LOSS: %d of 10000 notes arrived over a link that loses 20%%", got)
	}
}

func TestDuplicationDoublesItsShare(t *testing.T) {
	l := quick()
	l.Duplicate = sim.Percent(20)
	if got := len(received(t, l)); got < 11_800 || got > 12_200 {
		t.Errorf("SIM-TWICE: 10000 notes arrived %d times over a link that doubles 20%%", got)
	}
}

func TestFaultsLoseAndDoubleWhileTheyLast(t *testing.T) {
	lose := sim.Fault{At: sim.Real(2 * time.Second), For: 5 * time.Second, Kind: sim.Lose, A: 0, B: 1, Amount: int64(sim.Certain)}
	if got := len(received(t, quick(), lose)); got < 4_990 || got > 5_010 {
		t.Errorf("SIM-LOSS: %d of 10000 notes arrived with a total loss for half the time", got)
	}
	twice := lose
	twice.Kind = sim.Duplicate
	if got := len(received(t, quick(), twice)); got < 14_980 || got > 15_010 {
		t.Errorf("SIM-TWICE: 10000 notes arrived %d times, doubled for half the time", got)
	}
}

func TestCutIsOneWayAndEnds(t *testing.T) {
	cut := sim.Fault{At: sim.Real(2 * time.Second), For: 5 * time.Second, Kind: sim.Cut, A: 0, B: 1}
	if got := len(received(t, quick(), cut)); got < 4_990 || got > 5_010 {
		t.Errorf("SIM-CUT: %d of 10000 notes arrived over a link cut for half the time", got)
	}
	cut.A, cut.B = 1, 0
	if got := len(received(t, quick(), cut)); got < 9_990 {
		t.Errorf("SIM-CUT: %d of 10000 notes arrived while only the way back was cut", got)
	}
}

func TestOverlappingCutsEndWithTheLast(t *testing.T) {
	long := sim.Fault{At: sim.Real(2 * time.Second), For: 5 * time.Second, Kind: sim.Cut, A: 0, B: 1}
	short := sim.Fault{At: sim.Real(3 * time.Second), For: time.Second, Kind: sim.Cut, A: 0, B: protocol.Nobody}
	side := sim.Fault{At: sim.Real(4 * time.Second), For: time.Second, Kind: sim.Partition, A: protocol.Nobody, Side: protocol.NewSet(1)}
	if got := len(received(t, quick(), long, short, side)); got < 4_990 || got > 5_010 {
		t.Errorf("SIM-CUT: %d of 10000 notes arrived over a link cut for half the time, thrice over", got)
	}
}

func TestPartitionCutsBetweenTheSidesOnly(t *testing.T) {
	b := newBench(t, sim.Config{Members: 4, Seed: 1}, nil)
	b.Begin(sim.Fault{Kind: sim.Partition, A: protocol.Nobody, Side: protocol.NewSet(0, 1)})
	for from := range protocol.Rank(4) {
		for to := range protocol.Rank(4) {
			if got, want := b.Cut(from, to), (from < 2) != (to < 2); got != want {
				t.Errorf("SIM-CUT: the link from %v to %v is cut: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestSlowIsNotCut(t *testing.T) {
	slow := sim.Fault{At: sim.Real(2 * time.Second), For: 5 * time.Second, Kind: sim.Slow, A: 0, B: 1, Amount: int64(400 * ms)}
	b := newBench(t, sim.Config{Seed: 1, Link: quick(), Bound: sim.Bound{}}, sendEvery(ms))
	b.Schedule(slow)
	b.until(11 * time.Second)
	p := b.probes[1]
	if got := len(p.notes()); got < 10_990 {
		t.Errorf("SIM-SLOW: %d of 11000 notes arrived over a link that was slow", got)
	}
	late := 0
	for _, n := range p.got[1:] {
		if n.delay > 401*ms+time.Microsecond {
			t.Fatalf("SIM-SLOW: a note took %v over a link slow by at most 400ms", n.delay)
		}
		if n.delay >= 200*ms {
			late++
		}
	}
	if late < 4_990 || late > 5_010 {
		t.Errorf("SIM-SLOW: %d notes were late, want about 5000", late)
	}
	if !slices.IsSortedFunc(p.notes(), func(a, b int) int { return a - b }) {
		return
	}
	t.Error("SIM-SLOW: no note overtook another on a link without order")
}

func TestFIFOKeepsOrder(t *testing.T) {
	l := sim.Link{Delay: sim.Between(ms, 50*ms), FIFO: true}
	if got := received(t, l); !slices.IsSorted(got) || len(got) < 9_900 {
		t.Errorf("SIM-FIFO: %d notes, in order: %v", len(got), slices.IsSorted(got))
	}
	l.FIFO = false
	if got := received(t, l); slices.IsSorted(got) {
		t.Error("SIM-FIFO: nothing is overtaken on a link without order")
	}
}

func TestReliableLinkKeepsWhatACutHoldsUp(t *testing.T) {
	l := quick()
	l.Reliable, l.Loss, l.Duplicate = true, sim.Percent(30), sim.Percent(30)
	cut := sim.Fault{At: sim.Real(2 * time.Second), For: 5 * time.Second, Kind: sim.Cut, A: 0, B: 1}
	lose := sim.Fault{At: sim.Real(8 * time.Second), For: time.Second, Kind: sim.Lose, A: 0, B: 1, Amount: int64(sim.Certain)}
	got := received(t, l, cut, lose)
	slices.Sort(got)
	if len(got) < 9_990 || len(slices.Compact(got)) != len(got) {
		t.Errorf("SIM-RELIABLE: %d of 10000 notes arrived, %d different ones", len(got), len(slices.Compact(got)))
	}
}

func TestDelayBoundIsNeverBelowTheTruth(t *testing.T) {
	b := newBench(t, sim.Config{
		Seed:   1,
		Link:   sim.Link{Delay: sim.Between(ms, 20*ms)},
		Bound:  sim.Bound{Slack: sim.Between(0, 3*ms), Unknown: sim.Percent(10)},
		Clocks: []sim.ClockSpec{{Rate: 1_000_000}, {Rate: -1_000_000}},
	}, sendEvery(ms))
	b.Schedule(sim.Fault{At: sim.Real(time.Second), For: time.Second, Kind: sim.Pause, A: 1})
	sent := map[int]sim.Real{}
	b.until(5 * time.Second)
	for _, s := range b.probes[0].got {
		sent[len(sent)+1] = s.real
	}
	unknown, loose := 0, 0
	for _, r := range b.probes[1].got[1:] {
		truth := r.real.Sub(sent[r.note])
		switch {
		case r.delay == protocol.Unknown:
			unknown++
		case r.delay < truth:
			t.Fatalf("SIM-BOUND: a note took %v and was said to take at most %v", truth, r.delay)
		case r.delay > truth+3*ms:
			t.Fatalf("SIM-BOUND: a note took %v and was said to take at most %v, with a slack of 3ms", truth, r.delay)
		case r.delay > truth+ms:
			loose++
		}
	}
	if n := len(b.probes[1].got); unknown < n/20 || unknown > n/5 || loose < n/3 {
		t.Errorf("SIM-BOUND: of %d bounds %d are unknown and %d loose, want about a tenth and two thirds", n, unknown, loose)
	}
}

func TestMessagesToOneselfGoThroughTheQueue(t *testing.T) {
	inStep := false
	b := newBench(t, sim.Config{Members: 1, Seed: 1, Link: sim.Link{Loss: sim.Certain, Delay: sim.Between(ms, ms)}},
		func(p *probe, _ protocol.Time, ev protocol.Event) protocol.Effects {
			if inStep {
				t.Error("a Step began within another")
			}
			inStep = true
			defer func() { inStep = false }()
			if _, ok := ev.(protocol.Start); ok {
				return protocol.Effects{Wake: protocol.Never, Send: []protocol.Envelope{{To: 0, Message: &note{7}}}}
			}
			return protocol.Effects{Wake: protocol.Never}
		})
	b.until(ms)
	if got := b.probes[0].notes(); !slices.Equal(got, []int{7}) {
		t.Fatalf("SIM-SELF: to itself a member got %v, want 7", got)
	}
	if got := b.probes[0].got; got[1].now <= got[0].now {
		t.Errorf("SIM-SELF: received at %v what was sent at %v", got[1].now, got[0].now)
	}
}

func TestMessagesInFlightAreCopies(t *testing.T) {
	shared := &note{1}
	b := newBench(t, sim.Config{Members: 3, Seed: 1}, func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
		if _, ok := ev.(protocol.Start); !ok || p.boot.Self != 0 {
			return protocol.Effects{Wake: protocol.Never}
		}
		return protocol.Effects{Wake: protocol.Never, Send: []protocol.Envelope{{To: 1, Message: shared}, {To: 2, Message: shared}}}
	})
	b.until(ms / 10)
	shared.n = 2
	b.until(time.Second)
	for r := 1; r <= 2; r++ {
		if got := b.probes[r].notes(); !slices.Equal(got, []int{1}) {
			t.Errorf("member %d got %v: a message changed on its way", r, got)
		}
	}
}

func TestOldIncarnationsAreDroppedUnlessAskedFor(t *testing.T) {
	for _, old := range []bool{false, true} {
		b := newBench(t, sim.Config{Seed: 1, Link: sim.Link{Delay: sim.Between(ms, ms)}, Bound: sim.Bound{Old: old}}, sendEvery(ms))
		b.Begin(sim.Fault{Kind: sim.Slow, A: 0, B: 1, For: 50 * ms, Amount: int64(time.Second)})
		b.until(100 * ms)
		b.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: 10 * ms})
		b.until(2 * time.Second)
		late, highest := false, protocol.Inc(0)
		for _, r := range b.probes[1].got[1:] {
			late = late || r.from.Inc < highest
			highest = max(highest, r.from.Inc)
		}
		if late != old {
			t.Errorf("SIM-OLD: asked for old incarnations: %v, got one: %v", old, late)
		}
	}
}

func TestDedupeDropsWhatCameBefore(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 1, Link: sim.Link{Delay: sim.Between(ms, 5*ms), Duplicate: sim.Percent(50)},
		Bound: sim.Bound{Dedupe: true}}, sendEvery(ms))
	b.until(time.Second)
	got := b.probes[1].notes()
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != len(got) || n < 900 {
		t.Errorf("%d notes of which %d are different", len(got), n)
	}
}

func TestInterceptedMessagesMayBeDeliveredLater(t *testing.T) {
	var kept []sim.Intercepted
	b := newBench(t, sim.Config{Seed: 1, Intercept: func(l sim.Intercepted) bool {
		if l.Message.(*note).n%2 == 0 {
			kept = append(kept, l)
			return true
		}
		return false
	}}, sendEvery(100*ms))
	b.until(550 * ms)
	if got := b.probes[1].notes(); !slices.Equal(got, []int{1, 3, 5}) {
		t.Fatalf("with the even ones held, b got %v", got)
	}
	b.Deliver(kept[0], b.Now())
	b.Deliver(kept[0], b.Now()+1)
	b.until(560 * ms)
	p := b.probes[1]
	if got := p.notes(); !slices.Equal(got, []int{1, 3, 5, 2, 2}) {
		t.Fatalf("after delivering 2 twice, b got %v", got)
	}
	if d := p.got[len(p.got)-1].delay; d < 449*ms {
		t.Errorf("SIM-BOUND: a message held for 450ms has the bound %v", d)
	}
}
