package rain

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// asked says whether a program was asked to stop, and why, while its member stays.
func asked(m *Machine) protocol.CauseCode {
	for _, v := range m.out.Views {
		if v.Agreed != nil && v.Stop {
			return v.Cause.Code
		}
	}
	return 0
}

func TestAMemberThatLeavesStaysUntilItsProgramHasStopped(t *testing.T) {
	r := newHarness(t, 3, nil)
	m := r.members[2]
	m.group("g").publishView(protocol.Cause{})
	r.settle()
	m.onClose(r.now, protocol.Close{})
	if asked(m) != protocol.Closed {
		t.Errorf("TestAMemberThatLeaves: the program was told %+v", m.out.Views)
	}
	r.run()
	if v := r.group(0).view; r.group(2).phase != Alive || v.Members.Len() != 3 || m.Closed() {
		t.Fatalf("TestAMemberThatLeaves: out before its program has stopped: %v, %+v, closed %v", r.group(2).phase, v, m.Closed())
	}
	r.group(2).onStopped(r.now)
	r.run()
	if v := r.group(0).view; r.group(2).phase != Out || v.Failed != protocol.NewSet(2) || !m.Closed() {
		t.Errorf("TestAMemberThatLeaves: its program has stopped: %v, %+v, closed %v", r.group(2).phase, v, m.Closed())
	}
	r.group(2).onCampaign(r.now)
	if r.group(2).phase != Out {
		t.Error("TestAMemberThatLeaves: it takes part again")
	}
}

// The best-ranked member decides. If it is not well the authority gives it no lease, so it must not be the best-ranked one any more.
func TestAMemberThatIsNotWellHoldsNobodyUp(t *testing.T) {
	r := newHarness(t, 3, nil)
	m, g := r.members[0], r.group(0)
	g.publishView(protocol.Cause{})
	r.settle()
	m.onHealth(r.now, protocol.Health{})
	m.onHealth(r.now, protocol.Health{})
	if asked(m) != protocol.Unhealthy || g.phase != Alive {
		t.Fatalf("TestAMemberThatIsNotWell: %v, the program was told %+v", g.phase, m.out.Views)
	}
	g.onStopped(r.now)
	g.onCampaign(r.now) // the program waits to take part again
	r.run()
	if r.managers() != "2 leads {b c}" || g.phase != Out {
		t.Fatalf("TestAMemberThatIsNotWell: %s; it is %v", r.managers(), g.phase)
	}
	r.group(1).onRecovered(r.group(1).view.Number)
	m.onHealth(r.now, protocol.Health{OK: true})
	r.run()
	if v := r.group(2).view; v.Joined != protocol.NewSet(0) || g.phase != Alive {
		t.Errorf("TestAMemberThatIsNotWell: it is well again: %v, %+v", g.phase, v)
	}
}

// Who asks in one life of a member in its group, and is answered in the next, has not been told anything about that one.
func TestLeaveToGoOnIsOfOneLife(t *testing.T) {
	m, err := New(gatedConfig(3), &authority{inc: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.inc, m.out = 1, &protocol.Effects{}
	g := m.group("g")
	g.view.Members, g.known = protocol.Everyone(3), true
	live := func(now protocol.Time) Stay {
		g.phase = Alive
		g.stay.begin(g, now)
		g.question(now)
		return *m.out.Send[len(m.out.Send)-1].Message.(*Stay)
	}
	now := protocol.Time(time.Second)
	first := live(now)
	g.die(protocol.Cause{Code: protocol.NoQuorum})
	now = now.Add(time.Second / 20)
	second := live(now)
	now = now.Add(time.Second / 10)
	m.onStays(now, protocol.Ident{Rank: 1, Inc: 1}, &Stays{Group: "g", Inc: 1, At: first.At})
	if g.stay.end != 0 {
		t.Error("TestLeaveToGoOnIsOfOneLife: an answer of the life before counts")
	}
	m.onStays(now, protocol.Ident{Rank: 1, Inc: 1}, &Stays{Group: "g", Inc: 1, At: second.At})
	if g.stay.end == 0 || g.stay.end >= now.Add(m.cfg.Stay) {
		t.Errorf("TestLeaveToGoOnIsOfOneLife: answered, and may go on until %v at %v", g.stay.end, now)
	}
}

func TestAManagerThatIsAskedToStopIsNotAskedToRecoverAgain(t *testing.T) {
	for _, done := range []bool{false, true} {
		r := newHarness(t, 3, nil)
		m, g := r.members[0], r.group(0)
		g.recovered = Number{}
		g.publishView(protocol.Cause{})
		if done {
			g.onRecovered(g.view.Number)
		}
		m.out = &protocol.Effects{}
		m.onClose(r.now, protocol.Close{})
		if len(m.out.Views) != 1 || m.out.Views[0].Agreed.Recover == done {
			t.Errorf("TestAManagerThatIsAskedToStop: recovered %v, and it was told %+v", done, m.out.Views)
		}
	}
}

// A view that is installed may not be reported yet: programs of members that it removed may still act.
func TestAProgramThatIsAskedToStopLearnsNothingTooEarly(t *testing.T) {
	r := newHarness(t, 3, nil)
	m, g := r.members[2], r.group(2)
	g.publishView(protocol.Cause{})
	g.view.Number.Vid++
	g.view.Members.Remove(1)
	m.out = &protocol.Effects{}
	m.onClose(r.now, protocol.Close{})
	if len(m.out.Views) != 1 || m.out.Views[0].Agreed.Vid != 1 || m.out.Views[0].Support.Len() != 3 || asked(m) != protocol.Closed {
		t.Errorf("TestAProgramThatIsAskedToStop: it was told %+v", m.out.Views)
	}
}
