package stack

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// said returns the words on its health that a member sent to another.
func said(eff protocol.Effects, to protocol.Rank) []Health {
	var out []Health
	for _, s := range eff.Send {
		if h, is := s.Message.(*Health); is && s.To == to {
			out = append(out, *h)
		}
	}
	return out
}

func TestDrainedMemberRepeatsItOftenAtFirstAndSeldomLater(t *testing.T) {
	m, _, _ := rolesPair(t, Roles{Members: 4, Observers: 1})
	words, last := 0, protocol.Time(0)
	for now := 10 * ms; now < 10_000*ms; {
		ev := protocol.Event(protocol.Tick{})
		if now == 10*ms {
			ev = protocol.Health{OK: true, Drained: true}
		}
		eff := drivetest.Step(m, now, ev)
		for r := range protocol.Rank(4) {
			w := said(eff, r)
			switch {
			case r == 1 && len(w) > 0 || len(w) > 1:
				t.Fatalf("at %v it said %+v to %v", now, w, r)
			case len(w) == 1 && (w[0].OK || !w[0].Drained):
				t.Fatalf("at %v it said %+v", now, w[0])
			case len(w) == 1 && r == 3: // an observer shows it to people
				words, last = words+1, now
			}
		}
		now = max(eff.Wake, now+1)
	}
	if words < 5 || words > 15 || last < 9_000*ms {
		t.Errorf("it said it %d times in ten seconds, last at %v", words, last)
	}
	eff := drivetest.Step(m, 10_000*ms, protocol.Health{OK: true})
	if w := said(eff, 0); len(w) != 1 || !w[0].OK || w[0].Drained {
		t.Errorf("undrained it says %+v", w)
	}
}

func TestDrainedMembersAreKnownUntilTheySayOtherwise(t *testing.T) {
	m, _, _ := rolesPair(t, Roles{Members: 4})
	say := func(now protocol.Time, inc protocol.Inc, seq uint64, w Health) {
		w.Seq = seq
		drivetest.Step(m, now, &protocol.Receive{From: protocol.Ident{Rank: 2, Inc: inc}, Message: &w})
		drivetest.Step(m, now, protocol.Tick{})
	}
	other := func(now protocol.Time, inc protocol.Inc) {
		drivetest.Step(m, now, &protocol.Receive{From: protocol.Ident{Rank: 2, Inc: inc}, Message: &word{}})
	}
	known := func(when string, barred, drained bool) {
		t.Helper()
		b, d := m.Unfit()
		if b.Has(2) != barred || d.Has(2) != drained {
			t.Errorf("%s: barred %v, drained %v; want %v, %v", when, b, d, barred, drained)
		}
		if barred != m.passed.Barred.Has(2) {
			t.Errorf("%s: the authority was told to bar %v", when, m.passed.Barred)
		}
	}
	drained := Health{Drained: true}
	say(10*ms, 3, 1, drained)
	known("after its word", true, true)
	say(20*ms, 3, 2, Health{})
	known("ill", true, false)
	say(30*ms, 3, 3, drained)
	drivetest.Step(m, 3_000*ms, protocol.Tick{})
	known("between two words", true, true)
	drivetest.Step(m, 9_000*ms, protocol.Tick{})
	drivetest.Step(m, 9_000*ms, protocol.Tick{})
	known("silent: a host that is being repaired", false, true)
	other(10_000*ms, 3)
	drivetest.Step(m, 10_000*ms, protocol.Tick{})
	known("heard again", false, true)
	other(13_000*ms, 3)
	drivetest.Step(m, 15_000*ms, protocol.Tick{})
	known("it speaks and does not repeat the word", false, false)
	say(16_000*ms, 3, 4, drained)
	say(17_000*ms, 3, 5, Health{OK: true})
	known("undrained", false, false)
	say(18_000*ms, 3, 6, drained)
	other(18_001*ms, 4)
	drivetest.Step(m, 18_001*ms, protocol.Tick{})
	known("restarted", false, false)
}

func TestWordOnADrainedMemberDoesNotMoveTheElectorTwice(t *testing.T) {
	m, a, e := rolesPair(t, Roles{Members: 3})
	hear(m, e, 2*ms, 1)
	a.take()
	e.take()
	drivetest.Step(m, 10*ms, protocol.Health{OK: true, Drained: true})
	want(t, "the elector", e.take(), "Unfit")
	drivetest.Step(m, 20*ms, protocol.Health{Drained: true}) // ill as well
	want(t, "the elector", e.take())
	if b, d := m.Unfit(); b != protocol.NewSet(1) || d != protocol.NewSet(1) {
		t.Errorf("barred %v, drained %v", b, d)
	}
	drivetest.Step(m, 30*ms, protocol.Health{OK: true})
	if b, d := m.Unfit(); !b.Empty() || !d.Empty() {
		t.Errorf("barred %v, drained %v", b, d)
	}
}
