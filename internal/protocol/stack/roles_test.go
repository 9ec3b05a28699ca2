package stack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

const ms = protocol.Time(time.Millisecond)

func TestRoles(t *testing.T) {
	r := Roles{Members: 7, Observers: 2, Witnesses: protocol.NewSet(4)}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	q := r.Quorums()
	switch {
	case r.Voters() != 5 || r.Leaders() != protocol.NewSet(0, 1, 2, 3):
		t.Errorf("%d vote and %v may lead", r.Voters(), r.Leaders())
	case !r.Has(4) || r.Has(5):
		t.Error("witnesses vote, observers do not")
	case q.Members() != 7 || q.Voters() != protocol.Everyone(5):
		t.Errorf("quorums are %v", q)
	case !q.In(protocol.NewSet(0, 1, 4)) || q.In(protocol.NewSet(0, 1, 5, 6)):
		t.Error("three of the five that vote are a quorum, and no others are")
	}
}

func TestRolesThatMakeNoSense(t *testing.T) {
	for want, r := range map[string]Roles{
		"between 1 and":          {},
		"at least one member":    {Members: 3, Observers: 3},
		"among the 2 that vote":  {Members: 3, Observers: 1, Witnesses: protocol.NewSet(2)},
		"all 2 voters are witn":  {Members: 3, Observers: 1, Witnesses: protocol.NewSet(0, 1)},
		"-1 observers of 3 memb": {Members: 3, Observers: -1},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", r, err, want)
		}
	}
	for want, c := range map[string]Config{
		"member 3":     {Self: 3, Roles: Roles{Members: 3}},
		"not be negat": {Roles: Roles{Members: 3}, Repeat: -1},
	} {
		if _, err := New(c, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", c, err, want)
		}
	}
}

// rolesPair returns the started stack of b with some roles.
func rolesPair(t *testing.T, r Roles) (*Machine, *fake, *fake) {
	t.Helper()
	a, e := &fake{inc: 4, next: protocol.Effects{Wake: protocol.Never}}, &fake{next: protocol.Effects{Wake: protocol.Never}}
	m, err := New(Config{Self: 1, Roles: r, Repeat: 50 * time.Millisecond}, a, func(protocol.Inc, *Shape) (protocol.Machine, error) { return e, nil })
	if err != nil {
		t.Fatal(err)
	}
	drivetest.Step(m, ms, protocol.Start{})
	a.take()
	e.take()
	return m, a, e
}

// hear lets the elector say whom it trusts.
func hear(m *Machine, e *fake, now protocol.Time, who protocol.Rank) protocol.Effects {
	e.next = protocol.Effects{Views: trusts(who), Wake: protocol.Never}
	return drivetest.Step(m, now, &protocol.Receive{From: protocol.Ident{Rank: 2, Inc: 1}, Message: &word{elector: true}})
}

func TestObserverRunsNoElector(t *testing.T) {
	m, a, e := rolesPair(t, Roles{Members: 4, Observers: 3})
	hear(m, e, 2*ms, 0)
	drivetest.Step(m, 3*ms, protocol.Tick{})
	want(t, "the elector", e.take())
	want(t, "the authority", a.take(), "Tick")
	if m.Incarnation() != 4 {
		t.Error("it does not know who it is")
	}
}

func TestWitnessThatIsTrustedTellsItsElectorAtOnce(t *testing.T) {
	m, _, e := rolesPair(t, Roles{Members: 3, Witnesses: protocol.NewSet(1)})
	if eff := hear(m, e, 2*ms, 1); eff.Wake != 2*ms {
		t.Errorf("wakes at %v, want at once", eff.Wake)
	}
	e.take()
	eff := drivetest.Step(m, 2*ms, protocol.Tick{})
	want(t, "the elector", e.take(), "Unfit")
	// It stays where it is: it is told again, but not all the time.
	if eff.Wake != 202*ms {
		t.Errorf("wakes at %v, want in four repetitions", eff.Wake)
	}
	drivetest.Step(m, 100*ms, protocol.Tick{})
	want(t, "the elector", e.take(), "Tick")
	drivetest.Step(m, 202*ms, protocol.Tick{})
	want(t, "the elector", e.take(), "Unfit")
	hear(m, e, 203*ms, 0)
	e.take()
	if eff := drivetest.Step(m, 900*ms, protocol.Tick{}); eff.Wake != protocol.Never {
		t.Errorf("wakes at %v, though another is trusted now", eff.Wake)
	}
}

func TestIllMemberTellsItsAuthorityItsElectorAndTheOthers(t *testing.T) {
	m, a, e := rolesPair(t, Roles{Members: 4, Observers: 1})
	hear(m, e, 2*ms, 1)
	a.take()
	e.take()
	eff := drivetest.Step(m, 10*ms, protocol.Health{})
	want(t, "the authority", a.take(), "Health")
	want(t, "the elector", e.take(), "Unfit")
	if got := told(t, eff, false); !slices.Equal(got, []protocol.Rank{0, 2, 3}) {
		t.Errorf("told %v, want all others", got)
	}
	if eff.Wake != 10*ms {
		t.Errorf("wakes at %v: the authority has to be told who is barred", eff.Wake)
	}
	drivetest.Step(m, 10*ms, protocol.Tick{})
	if m.passed.Barred != protocol.NewSet(1) {
		t.Errorf("the authority was told to bar %v", m.passed.Barred)
	}
	if got := told(t, drivetest.Step(m, 60*ms, protocol.Tick{}), false); len(got) != 3 {
		t.Error("it does not repeat that it is ill")
	}
	eff = drivetest.Step(m, 70*ms, protocol.Health{OK: true})
	if got := told(t, eff, true); len(got) != 3 {
		t.Error("it does not say that it is well")
	}
	eff = drivetest.Step(m, 70*ms, protocol.Tick{})
	if eff.Wake != protocol.Never || !m.passed.Barred.Empty() {
		t.Errorf("wakes at %v, bars %v", eff.Wake, m.passed.Barred)
	}
	eff = drivetest.Step(m, 80*ms, protocol.Health{OK: true})
	if len(told(t, eff, true)) != 0 {
		t.Error("what is no news is told all the same")
	}
}

// told returns to whom a step said how the member is.
func told(t *testing.T, eff protocol.Effects, ok bool) []protocol.Rank {
	t.Helper()
	var to []protocol.Rank
	for _, s := range eff.Send {
		if h, is := s.Message.(*Health); is {
			if h.OK != ok {
				t.Errorf("said %+v", h)
			}
			to = append(to, s.To)
		}
	}
	return to
}

func TestOthersThatAreIllAreBarredWhileTheySaySo(t *testing.T) {
	m, a, e := rolesPair(t, Roles{Members: 4})
	say := func(at protocol.Time, inc protocol.Inc, seq uint64, ok bool) protocol.Effects {
		return drivetest.Step(m, at, &protocol.Receive{From: protocol.Ident{Rank: 2, Inc: inc}, Message: &Health{Seq: seq, OK: ok}})
	}
	barred := func(when string, who ...protocol.Rank) {
		t.Helper()
		if m.passed.Barred != protocol.NewSet(who...) {
			t.Errorf("%s: barred are %v, want %v", when, m.passed.Barred, who)
		}
	}
	eff := say(10*ms, 3, 5, false)
	want(t, "the authority", a.take(), "trusts nobody")
	barred("after its word", 2)
	if eff.Wake != 210*ms {
		t.Errorf("wakes at %v, want when it counts as well again", eff.Wake)
	}
	say(20*ms, 3, 5, true)
	say(20*ms, 3, 4, true)
	say(20*ms, 2, 9, true)
	barred("after old words", 2)
	say(100*ms, 3, 6, false)
	drivetest.Step(m, 210*ms, protocol.Tick{})
	barred("while it repeats them", 2)
	drivetest.Step(m, 300*ms, protocol.Tick{})
	barred("when it has not for long")
	say(310*ms, 3, 7, false)
	barred("ill once more", 2)
	hear(m, e, 320*ms, 0) // any message of that member, which has restarted
	drivetest.Step(m, 321*ms, &protocol.Receive{From: protocol.Ident{Rank: 2, Inc: 4}, Message: &word{}})
	drivetest.Step(m, 321*ms, protocol.Tick{})
	barred("restarted")
	say(330*ms, 4, 1, false)
	say(340*ms, 4, 2, true)
	barred("well again")
	drivetest.Step(m, 350*ms, &protocol.Receive{From: protocol.Ident{Rank: 9, Inc: 4}, Message: &Health{Seq: 1}})
	barred("after a stranger's word")
}

func TestNothingIsSaidOfHealthBeforeTheIncarnationIsKnown(t *testing.T) {
	m, a, _ := rolesPair(t, Roles{Members: 3})
	a.inc = 0
	if got := told(t, drivetest.Step(m, 10*ms, protocol.Health{}), false); len(got) != 0 {
		t.Error("it spoke under no incarnation")
	}
	a.inc = 5
	if got := told(t, drivetest.Step(m, 20*ms, protocol.Persisted{}), false); len(got) != 2 {
		t.Error("it has not said it since")
	}
}

func TestHealthCopiesAndNames(t *testing.T) {
	h := &Health{Seq: 3, OK: true}
	if c := h.Copy().(*Health); *c != *h || c == h || h.Name() != "stack.Health" {
		t.Errorf("%+v of %+v, called %s", c, h, h.Name())
	}
}
