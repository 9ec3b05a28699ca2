package sim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// wakeEvery wants a tick every period of its own clock, and says in every Step when.
func wakeEvery(period time.Duration, wanted *[]protocol.Time) func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
	var next protocol.Time
	return func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
		if _, tick := ev.(protocol.Tick); !tick || now >= next {
			next = now.Add(period)
			*wanted = append(*wanted, next)
		}
		return protocol.Effects{Wake: next}
	}
}

func TestTimersFireLateButNeverEarly(t *testing.T) {
	for _, rate := range []int64{0, 1_000_000, -1_000_000, 200_000_000, -200_000_000} {
		var wanted []protocol.Time
		b := newBench(t, sim.Config{
			Members: 1, Seed: 1, Timer: sim.Between(0, 3*ms), Clocks: []sim.ClockSpec{{Offset: 77, Rate: rate}},
		}, wakeEvery(10*ms, &wanted))
		b.until(2 * time.Second)
		ticks := b.probes[0].ticks()
		if len(ticks) < 140 {
			t.Fatalf("SIM-TIMER: only %d ticks in 2s at rate %d", len(ticks), rate)
		}
		late := time.Duration(0)
		for i, tick := range ticks {
			if tick.now < wanted[i] {
				t.Fatalf("SIM-TIMER: a tick at %v that was wanted at %v, at rate %d", tick.now, wanted[i], rate)
			}
			late = max(late, tick.now.Sub(wanted[i]))
		}
		if late < ms || late > 4*ms {
			t.Errorf("SIM-TIMER: the latest of the ticks is late by %v, want up to 3ms", late)
		}
	}
}

func TestTimersFollowAClockThatChangesItsRate(t *testing.T) {
	var wanted []protocol.Time
	b := newBench(t, sim.Config{Members: 1, Seed: 1}, wakeEvery(time.Second, &wanted))
	b.Schedule(sim.Fault{At: sim.Real(500 * ms), Kind: sim.Rate, A: 0, Amount: -500_000_000, For: 10 * time.Second})
	b.until(1400 * ms)
	if n := len(b.probes[0].ticks()); n != 0 {
		t.Fatalf("SIM-TIMER: %d ticks after 0.95s of a clock that became slow, want none", n)
	}
	b.until(1600 * ms)
	if n := len(b.probes[0].ticks()); n != 1 {
		t.Errorf("SIM-TIMER: %d ticks after 1.05s of a clock that became slow, want one", n)
	}
	if rate := b.Clock(0).Rate(b.Now()); rate != -500_000_000 {
		t.Errorf("SIM-CLOCK: the clock runs at %d", rate)
	}
	b.until(11 * time.Second)
	if rate := b.Clock(0).Rate(b.Now()); rate != 0 {
		t.Errorf("SIM-CLOCK: after the fault the clock runs at %d", rate)
	}
}

func TestEachStepReplacesTheWake(t *testing.T) {
	b := newBench(t, sim.Config{Members: 1, Seed: 1}, func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
		switch ev.(type) {
		case protocol.Start:
			return protocol.Effects{Wake: now.Add(time.Second)}
		case protocol.Unfit:
			return protocol.Effects{Wake: now.Add(5 * time.Second)}
		}
		return protocol.Effects{Wake: protocol.Never}
	})
	b.until(500 * ms)
	b.Command(0, protocol.Unfit{})
	b.until(5400 * ms)
	if n := len(b.probes[0].ticks()); n != 0 {
		t.Errorf("SIM-TIMER: %d ticks for a wake that was put off", n)
	}
	b.until(20 * time.Second)
	if n := len(b.probes[0].ticks()); n != 1 {
		t.Errorf("SIM-TIMER: %d ticks, want the one that was wanted last", n)
	}
}

func TestPausedProcessTakesInLateWhatArrived(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 1}, sendEvery(100*ms))
	b.Schedule(sim.Fault{At: sim.Real(time.Second), For: time.Second, Kind: sim.Pause, A: 1})
	b.until(1900 * ms)
	before := len(b.probes[1].notes())
	if !b.Frozen(1) || before > 11 {
		t.Fatalf("SIM-PAUSE: frozen %v, %d notes taken", b.Frozen(1), before)
	}
	b.until(2100 * ms)
	if got := len(b.probes[1].notes()); got < 20 {
		t.Errorf("SIM-PAUSE: %d notes after the pause, want all 20", got)
	}
	if d := b.Clock(1).At(sim.Real(2*time.Second)) - b.Clock(1).At(sim.Real(time.Second)); d != protocol.Time(time.Second) {
		t.Errorf("SIM-CLOCK: the clock advanced by %v in a pause of 1s", d)
	}
}

func TestSuspendedHostLosesWhatArrives(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 1}, sendEvery(100*ms))
	b.Schedule(sim.Fault{At: sim.Real(time.Second), For: time.Second, Kind: sim.Suspend, A: 1})
	b.until(3050 * ms)
	if got := len(b.probes[1].notes()); got < 20 || got > 22 {
		t.Errorf("SIM-SUSPEND: %d notes of 31, want those of two seconds in three", got)
	}
}

func TestHaltStopsTheClockWithTheProcess(t *testing.T) {
	b := newBench(t, sim.Config{Members: 1, Seed: 1, Clocks: []sim.ClockSpec{{Rate: 1_000_000}}}, func(_ *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
		if _, ok := ev.(protocol.Start); ok {
			return protocol.Effects{Wake: now.Add(2 * time.Second)}
		}
		return protocol.Effects{Wake: protocol.Never}
	})
	b.Schedule(sim.Fault{At: sim.Real(time.Second), For: 5 * time.Second, Kind: sim.Halt, A: 0})
	b.until(10 * time.Second)
	ticks := b.probes[0].ticks()
	if len(ticks) != 1 || ticks[0].real < sim.Real(6900*ms) || ticks[0].real > sim.Real(7100*ms) {
		t.Fatalf("SIM-HALT: ticks %+v, want one at 7s: 2s of a clock that stood still for 5s", ticks)
	}
	c := b.Clock(0)
	if c.At(sim.Real(time.Second)) != c.At(sim.Real(6*time.Second)) {
		t.Errorf("SIM-HALT: the clock went from %v to %v while it stood still", c.At(sim.Real(time.Second)), c.At(sim.Real(6*time.Second)))
	}
	if c.Rate(b.Now()) != 1_000_000 {
		t.Errorf("SIM-HALT: the clock runs at %d afterwards", c.Rate(b.Now()))
	}
}

func TestCrashEndsEverythingOfThatLife(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 1}, sendEvery(100*ms))
	first := b.probes
	b.Schedule(
		sim.Fault{At: sim.Real(time.Second), For: 300 * ms, Kind: sim.Pause, A: 1},
		sim.Fault{At: sim.Real(1100 * ms), For: 500 * ms, Kind: sim.Crash, A: 1},
	)
	b.until(ms)
	old := first[1]
	b.until(1500 * ms)
	if b.Up(1) || b.Machine(1) != nil {
		t.Error("SIM-CRASH: a crashed member is up")
	}
	b.until(3050 * ms)
	if n := len(old.notes()); n > 11 {
		t.Errorf("SIM-CRASH: the machine of a crashed member took %d notes", n)
	}
	fresh := b.probes[1]
	if fresh == old || fresh.boot.Inc != 2 || b.Ident(1).Inc != 2 {
		t.Fatalf("SIM-CRASH: after the restart the member is %v with boot %+v", b.Ident(1), fresh.boot)
	}
	if n := len(fresh.notes()); n < 14 || n > 15 {
		t.Errorf("SIM-CRASH: the restarted member took %d notes in 1.45s, want one each 0.1s", n)
	}
	if b.Frozen(1) {
		t.Error("SIM-CRASH: the pause outlived its process")
	}
	if old.boot.Seed == fresh.boot.Seed {
		t.Error("two starts have the same randomness")
	}
}

func TestReceivesAreNeverOlderThanTheirSends(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 3, Link: sim.Link{Delay: sim.Between(1, 10)}}, sendEvery(time.Microsecond))
	b.until(ms)
	last := protocol.Time(-1)
	for _, g := range b.probes[1].got {
		if g.now <= last {
			t.Fatalf("SIM-CLOCK: a Step at %d after one at %d", g.now, last)
		}
		last = g.now
	}
}

// incarnateProbe decides its incarnation itself.
type incarnateProbe struct{ probe }

func (c *incarnateProbe) Incarnation() protocol.Inc { return protocol.Inc(len(c.got)) * 100 }
func (c *incarnateProbe) Votes() protocol.Time      { return 0 }

func TestIncarnateMachineIsAskedAfterEveryStep(t *testing.T) {
	var w *sim.World
	w = newWorld(t, sim.Config{Members: 2, Seed: 1, Spawn: func(b sim.Boot) (protocol.Machine, error) {
		p := probe{boot: b, world: &w, do: sendEvery(100 * ms)}
		if b.Self == 0 {
			return &incarnateProbe{p}, nil
		}
		return &p, nil
	}})
	run(t, w, 450*ms)
	for i, g := range w.Machine(1).(*probe).got[1:] {
		if want := protocol.Inc(i+1) * 100; g.from.Inc != want {
			t.Errorf("note %d came under incarnation %d, want %d", i+1, g.from.Inc, want)
		}
	}
	if got := w.Ident(0).Inc; got != 500 {
		t.Errorf("after five Steps the incarnation is %d, want 500", got)
	}
}

func TestMachineThatRefusesToStartStaysDown(t *testing.T) {
	w := newWorld(t, sim.Config{Members: 1, Seed: 1, Spawn: func(sim.Boot) (protocol.Machine, error) {
		return nil, errors.New("another council")
	}})
	var l lines
	w.Observe(&l)
	run(t, w, time.Second)
	if w.Up(0) || len(l.all) != 1 || !strings.Contains(l.all[0], `"ev":"refuse","why":"another council"`) {
		t.Errorf("up %v, trace %q", w.Up(0), l.all)
	}
}

func TestSpuriousTicksCome(t *testing.T) {
	var wanted []protocol.Time
	b := newBench(t, sim.Config{Members: 1, Seed: 1, Spurious: sim.Percent(50)}, wakeEvery(10*ms, &wanted))
	b.until(10 * time.Second)
	ticks, wakes := len(b.probes[0].ticks()), len(wanted)
	if ticks < wakes*14/10 || ticks > wakes*16/10 {
		t.Errorf("%d ticks for %d wakes, want half as many again", ticks, wakes)
	}
}

func TestSendingBeyondTheCouncilBreaksTheContract(t *testing.T) {
	b := newBench(t, sim.Config{Members: 1, Seed: 1}, func(*probe, protocol.Time, protocol.Event) protocol.Effects {
		return protocol.Effects{Wake: protocol.Never, Send: []protocol.Envelope{{To: 1, Message: &note{}}}}
	})
	if err := b.Run(1); err == nil || !strings.Contains(err.Error(), "contract: a sends test.note to member 1 of 1") {
		t.Errorf("got %v", err)
	}
}

func TestMachineThatLetsNoTimePassBreaksTheContract(t *testing.T) {
	b := newBench(t, sim.Config{Members: 1, Seed: 1}, func(_ *probe, now protocol.Time, _ protocol.Event) protocol.Effects {
		return protocol.Effects{Wake: now}
	})
	if err := b.Run(sim.Real(time.Second)); err == nil || !strings.Contains(err.Error(), "contract: a wants to be woken at") {
		t.Errorf("got %v", err)
	}
}

// closableProbe leaves once it has persisted its note.
type closableProbe struct {
	probe
	closed bool
}

func (l *closableProbe) Closed() bool { return l.closed }

func TestMemberLeavesInGoodOrderOrIsKilled(t *testing.T) {
	for _, polite := range []bool{true, false} {
		var w *sim.World
		w = newWorld(t, sim.Config{Members: 1, Seed: 1, Spawn: func(b sim.Boot) (protocol.Machine, error) {
			l := &closableProbe{probe: probe{boot: b, world: &w}}
			l.do = func(_ *probe, _ protocol.Time, ev protocol.Event) protocol.Effects {
				e := protocol.Effects{Wake: protocol.Never}
				switch ev.(type) {
				case protocol.Close:
					e.Persist = []byte("bye")
				case protocol.Persisted:
					l.closed = polite
				}
				return e
			}
			return l, nil
		}})
		c := count{}
		w.Observe(c)
		run(t, w, time.Second)
		w.Begin(sim.Fault{Kind: sim.Leave, A: 0, Amount: int64(100 * ms), For: 200 * ms})
		run(t, w, 1150*ms)
		if w.Up(0) || c[sim.EvClose] == 1 != polite || c[sim.EvCrash] == 1 == polite {
			t.Errorf("polite %v: up %v, closed %d, crashed %d", polite, w.Up(0), c[sim.EvClose], c[sim.EvCrash])
		}
		run(t, w, 1300*ms)
		if !w.Up(0) || string(w.Machine(0).(*closableProbe).boot.Record) != "bye" {
			t.Errorf("polite %v: the member did not come back with its record", polite)
		}
	}
}
