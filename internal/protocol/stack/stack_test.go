package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
)

// A fake plays either part: it notes its events and answers with what it was told to.
type fake struct {
	inc   protocol.Inc
	unfit bool
	prove protocol.Time
	next  protocol.Effects
	got   []string
	steps int
}

type word struct{ elector bool }

func (*word) Name() string             { return "word" }
func (w *word) Copy() protocol.Message { c := *w; return &c }

func (f *fake) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	f.steps++
	switch ev := ev.(type) {
	case protocol.Trusts:
		f.got = append(f.got, fmt.Sprintf("trusts %v", ev.Leader))
	default:
		f.got = append(f.got, strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", ev), "*"), "protocol."))
	}
	drivetest.Append(out, f.next)
	f.next = protocol.Effects{Wake: f.next.Wake}
}

func (f *fake) Incarnation() protocol.Inc    { return f.inc }
func (f *fake) Votes() protocol.Time         { return 0 }
func (f *fake) Closed() bool                 { return f.unfit }
func (f *fake) Owns(m protocol.Message) bool { return !m.(*word).elector }
func (f *fake) Proved() protocol.Time        { return f.prove }
func (f *fake) TakeUnfit() bool              { u := f.unfit; f.unfit = false; return u }
func (f *fake) take() []string               { g := f.got; f.got = nil; return g }
func trusts(who protocol.Rank) []protocol.View {
	return []protocol.View{{Domain: protocol.Elector, Leader: protocol.Ident{Rank: who, Inc: 1}}}
}

// N-VER: a guardian waits for the proofs of the leases, whatever is stacked on them.
func TestProofsOfTheAuthorityAreShown(t *testing.T) {
	if m := stackOf(t, &fake{inc: 1, prove: 700}, nil); m.Proved() != 700 {
		t.Errorf("proved until %v, want 700", m.Proved())
	}
}

// stackOf returns the stack of b, of five.
func stackOf(t *testing.T, a Authority, e NewElector) *Machine {
	t.Helper()
	m, err := New(Config{Self: 1, Roles: Roles{Members: 5}}, a, e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pair returns a started stack of two fakes.
func pair(t *testing.T) (*Machine, *fake, *fake) {
	t.Helper()
	a, e := &fake{inc: 4, next: protocol.Effects{Wake: protocol.Never}}, &fake{next: protocol.Effects{Wake: protocol.Never}}
	m := stackOf(t, a, func(inc protocol.Inc, _ *Shape) (protocol.Machine, error) {
		if inc != a.inc {
			t.Errorf("the elector was made for incarnation %d", inc)
		}
		return e, nil
	})
	drivetest.Step(m, 1, protocol.Start{})
	return m, a, e
}

func want(t *testing.T, who string, got []string, w ...string) {
	t.Helper()
	if !slices.Equal(got, w) {
		t.Errorf("%s got %v, want %v", who, got, w)
	}
}

func TestElectorIsMadeWhenTheIncarnationIsKnown(t *testing.T) {
	a, made := &fake{next: protocol.Effects{Wake: protocol.Never}}, 0
	e := &fake{next: protocol.Effects{Wake: protocol.Never}}
	m := stackOf(t, a, func(protocol.Inc, *Shape) (protocol.Machine, error) { made++; return e, nil })
	drivetest.Step(m, 1, protocol.Start{})
	drivetest.Step(m, 2, &protocol.Receive{Message: &word{elector: true}}) // to nobody
	if made != 0 || m.Incarnation() != 0 {
		t.Fatalf("made %d electors for an unknown incarnation", made)
	}
	a.inc = 7
	drivetest.Step(m, 3, protocol.Persisted{})
	want(t, "the elector", e.take(), "Start")
	a.inc = 8
	drivetest.Step(m, 4, protocol.Tick{})
	drivetest.Step(m, 5, protocol.Persisted{})
	if made != 2 {
		t.Errorf("made %d electors for two incarnations", made)
	}
}

func TestElectorThatCannotBeMadeIsDoneWithout(t *testing.T) {
	a := &fake{inc: 1, next: protocol.Effects{Wake: protocol.Never}}
	m := stackOf(t, a, func(protocol.Inc, *Shape) (protocol.Machine, error) {
		return (*fake)(nil), errors.New("no such elector")
	})
	drivetest.Step(m, 1, protocol.Start{})
	drivetest.Step(m, 2, protocol.Tick{})
	if m.Err() == nil || a.steps != 2 {
		t.Errorf("error %v after %d steps of the authority", m.Err(), a.steps)
	}
}

func TestMessagesGoToTheirOwner(t *testing.T) {
	m, a, e := pair(t)
	a.take()
	e.take()
	drivetest.Step(m, 2, &protocol.Receive{Message: &word{}})
	want(t, "the authority", a.take(), "Receive")
	want(t, "the elector", e.take())
	drivetest.Step(m, 3, &protocol.Receive{Message: &word{elector: true}})
	want(t, "the authority", a.take())
	want(t, "the elector", e.take(), "Receive")
}

func TestTrustIsPassedOnOnceForEachChange(t *testing.T) {
	m, a, e := pair(t)
	a.take()
	for range 3 {
		e.next = protocol.Effects{Views: trusts(2), Wake: protocol.Never}
		drivetest.Step(m, 2, &protocol.Receive{Message: &word{elector: true}})
	}
	want(t, "the authority", a.take(), "trusts c")
}

func TestUnfitReachesTheElectorAndWhatFollowsTheAuthority(t *testing.T) {
	m, a, e := pair(t)
	a.take()
	e.take()
	a.unfit = true
	e.next = protocol.Effects{Views: trusts(1), Wake: protocol.Never}
	if eff := drivetest.Step(m, 9, &protocol.Receive{Message: &word{}}); eff.Wake != 9 {
		t.Errorf("wake %v, want at once: the authority has to be told", eff.Wake)
	}
	want(t, "the elector", e.take(), "Unfit")
	want(t, "the authority", a.take(), "Receive")
	drivetest.Step(m, 9, protocol.Tick{})
	want(t, "the authority", a.take(), "trusts b")
}

// Each takes one Step at most: its messages would be used again in the next.
func TestNeitherIsSteppedTwiceInOneStep(t *testing.T) {
	m, a, e := pair(t)
	for _, ev := range []protocol.Event{protocol.Tick{}, &protocol.Receive{Message: &word{}},
		&protocol.Receive{Message: &word{elector: true}}, protocol.Campaign{Group: "g"}, protocol.Unfit{}} {
		before := [2]int{a.steps, e.steps}
		a.unfit = true
		e.next = protocol.Effects{Views: trusts(protocol.Rank(a.steps)), Wake: 0}
		a.next.Wake = 0
		drivetest.Step(m, 100, ev)
		if a.steps > before[0]+1 || e.steps > before[1]+1 {
			t.Errorf("%T: %d steps of the authority, %d of the elector", ev, a.steps-before[0], e.steps-before[1])
		}
	}
}

func TestEffectsOfBothAreMerged(t *testing.T) {
	m, a, e := pair(t)
	full := func(name string, wake protocol.Time) protocol.Effects {
		return protocol.Effects{Views: []protocol.View{{Group: protocol.Group(name)}}, Horizons: []protocol.Horizon{{ID: 1}},
			Send: []protocol.Envelope{{To: 1, Message: &word{}}}, Answers: []protocol.Answer{{ID: 1}}, Wake: wake,
			Facts: []protocol.Fact{{Why: name}}}
	}
	a.next, e.next = full("authority", 50), full("elector", 40)
	a.next.Persist = []byte("record")
	a.next.Wake, m.authorityWake, m.electorWake = 50, 3, 3
	got := drivetest.Step(m, 3, protocol.Tick{})
	if len(got.Views) != 2 || len(got.Horizons) != 2 || len(got.Send) != 2 || len(got.Answers) != 2 || len(got.Facts) != 2 ||
		string(got.Persist) != "record" || got.Wake != 40 {
		t.Errorf("merged: %+v", got)
	}
}

func TestElectorIsNotHeardWhileTheMemberDoesNotKnowWhoItIs(t *testing.T) {
	m, a, e := pair(t)
	a.inc = 0
	e.next = protocol.Effects{Send: []protocol.Envelope{{To: 1, Message: &word{elector: true}}}, Wake: protocol.Never}
	if eff := drivetest.Step(m, 5, &protocol.Receive{Message: &word{elector: true}}); len(eff.Send) != 0 {
		t.Error("the elector spoke under no incarnation")
	}
}

// newLab returns a council of real stacks on one clock, without loss.
func newLab(t testing.TB, n int) *drivetest.Net {
	l := drivetest.NewNet(t, n, 1e9, time.Millisecond)
	for r := range protocol.Rank(n) {
		a, err := nerio.New(nerio.Config{Me: r, Quorums: protocol.Majority(n), RoundTrip: 20 * time.Millisecond,
			Lease: 200 * time.Millisecond, Longest: 200 * time.Millisecond, Renew: 50 * time.Millisecond, Rho: protocol.DefaultRho,
			Elector: true, Diskless: true, Bootstrap: true}, nil, uint64(r+1))
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(Config{Self: r, Roles: Roles{Members: n}}, a, func(inc protocol.Inc, _ *Shape) (protocol.Machine, error) {
			return rank.New(rank.Default(r, n, inc))
		})
		if err != nil {
			t.Fatal(err)
		}
		l.Start(r, m, 0)
	}
	return l
}

func TestTrustedMemberLeadsAndItsHeirFollows(t *testing.T) {
	l := newLab(t, 3)
	l.Run(300 * time.Millisecond)
	for _, m := range l.Members {
		l.Step(m.Rank, protocol.Campaign{Group: "g"})
	}
	l.Run(200 * time.Millisecond)
	for _, m := range l.Members {
		if v := m.Views["g"]; v.Leader.Rank != 0 {
			t.Errorf("%v believes in %v, want a", m.Rank, v.Leader)
		}
	}
	l.Crash(0)
	l.Run(500 * time.Millisecond)
	for _, m := range l.Members[1:] {
		if v := m.Views["g"]; v.Leader.Rank != 1 {
			t.Errorf("%v believes in %v after the crash, want b", m.Rank, v.Leader)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	l := newLab(t, 3)
	l.Run(300 * time.Millisecond)
	l.Step(0, protocol.Campaign{Group: "g"})
	l.Run(time.Second)
	m, wake := l.Members[1].Machine, l.Members[1].Wake
	ok := &protocol.Receive{From: protocol.Ident{Rank: 0, Inc: l.Members[0].Inc}, Message: &rank.OK{Seq: 1 << 40}, Delay: time.Millisecond}
	var out drivetest.Buffer
	if n := testing.AllocsPerRun(100, func() {
		ok.Message.(*rank.OK).Seq++
		out.Step(m, l.Now, ok)
		out.Step(m, max(l.Now, wake), protocol.Tick{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestARecordOfAnElectorIsABrokenInvariant(t *testing.T) {
	m, _, e := pair(t)
	e.next.Persist = []byte("record")
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "OneRecord") {
			t.Errorf("recovered %v", r)
		}
	}()
	drivetest.Step(m, 5, &protocol.Receive{Message: &word{elector: true}})
}
