package rank_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/rank"
)

const ms = protocol.Time(time.Millisecond)

// start returns the started machine of a member, and what its start led to.
func start(t testing.TB, self protocol.Rank, members int) (*rank.Machine, protocol.Effects) {
	t.Helper()
	m, err := rank.New(rank.Default(self, members, 1))
	if err != nil {
		t.Fatal(err)
	}
	return m, drivetest.Step(m, 0, protocol.Start{})
}

func ok(from protocol.Rank, inc protocol.Inc, seq uint64) *protocol.Receive {
	return &protocol.Receive{From: protocol.Ident{Rank: from, Inc: inc}, Message: &rank.OK{Seq: seq}, Delay: protocol.Unknown}
}

// lastView returns the newest view of a Step that must have one.
func lastView(t testing.TB, e protocol.Effects) protocol.View {
	t.Helper()
	if len(e.Views) == 0 {
		t.Fatal("no view was published")
	}
	return e.Views[len(e.Views)-1]
}

func TestStartSaysOKToAllOthers(t *testing.T) {
	_, e := start(t, 1, 4)
	var to []protocol.Rank
	for _, env := range e.Send {
		to = append(to, env.To)
		if env.Message.Name() != "rank.OK" || env.Durable {
			t.Errorf("sent %s, durable %v, want a plain rank.OK", env.Message.Name(), env.Durable)
		}
	}
	if len(to) != 3 || to[0] != 0 || to[1] != 2 || to[2] != 3 {
		t.Errorf("OK went to %v, want all but oneself in rank order", to)
	}
}

func TestBestRankLeadsItselfAtOnce(t *testing.T) {
	_, e := start(t, 0, 3)
	if v := lastView(t, e); v.Leader.Rank != 0 || v.Cause.Code != protocol.Elected {
		t.Errorf("a starts with %+v, want a elected", v)
	}
}

func TestNobodyLeadsWhileABetterRankIsAwaited(t *testing.T) {
	m, e := start(t, 2, 3)
	if v := lastView(t, e); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Started {
		t.Fatalf("c starts with %+v, want no leader: started", v)
	}
	if e := drivetest.Step(m, 10*ms, ok(1, 1, 1)); len(e.Views) != 0 {
		t.Errorf("b was heard while a is awaited: got %+v, want no new view", e.Views)
	}
	e = drivetest.Step(m, 119*ms, protocol.Tick{})
	if len(e.Views) != 0 {
		t.Errorf("a is given up before its time-out: %+v", e.Views)
	}
	v := lastView(t, drivetest.Step(m, 120*ms, protocol.Tick{}))
	if v.Leader.Rank != 1 || v.Cause.Code != protocol.Suspected || v.Cause.Peer != 0 || v.Cause.Bound != 120*time.Millisecond {
		t.Errorf("after the time-out of a: %+v, want b because a was silent for 120ms", v)
	}
}

func TestSilentLeaderIsSuspectedAndWelcomedBack(t *testing.T) {
	m, _ := start(t, 1, 2)
	if v := lastView(t, drivetest.Step(m, 5*ms, ok(0, 1, 1))); v.Leader != (protocol.Ident{Rank: 0, Inc: 1}) {
		t.Fatalf("a was heard: got %+v, want a/1", v)
	}
	v := lastView(t, drivetest.Step(m, 125*ms, protocol.Tick{}))
	if v.Leader.Rank != 1 || v.Cause.String() != "suspected a (silent for 120ms)" {
		t.Errorf("a is silent: %v because %v, want b, suspected a (silent for 120ms)", v.Leader, v.Cause)
	}
	v = lastView(t, drivetest.Step(m, 130*ms, ok(0, 1, 2)))
	if v.Leader.Rank != 0 || v.Cause.Code != protocol.Returned {
		t.Errorf("a speaks again: %v because %v, want a, returned", v.Leader, v.Cause)
	}
}

// silence returns how long b lets a be silent after a's OK at the given time.
func silence(t *testing.T, m *rank.Machine, since protocol.Time) time.Duration {
	t.Helper()
	for now := since; now < since+5000*ms; now += ms {
		for _, f := range drivetest.Step(m, now, protocol.Tick{}).Facts {
			if f.Ev == protocol.EvSuspect {
				return now.Sub(since)
			}
		}
	}
	t.Fatal("a is never suspected")
	return 0
}

func TestTimeoutGrowsWithEachMistakeUpToTheCap(t *testing.T) {
	m, _ := start(t, 1, 2)
	now, want := protocol.Time(0), 120*time.Millisecond
	for seq := uint64(1); seq < 25; seq++ {
		drivetest.Step(m, now, ok(0, 1, seq))
		got := silence(t, m, now)
		if got != want {
			t.Fatalf("after %d mistakes a may be silent for %v, want %v", seq-1, got, want)
		}
		now = now.Add(got + time.Millisecond)
		want = min(want+50*time.Millisecond, time.Second)
	}
}

func TestSuspectingAPeerThatRestartedIsNoMistake(t *testing.T) {
	m, _ := start(t, 1, 2)
	drivetest.Step(m, 0, ok(0, 1, 1))
	now := protocol.Time(0).Add(silence(t, m, 0) + time.Millisecond)
	v := lastView(t, drivetest.Step(m, now, ok(0, 2, 1)))
	if v.Leader != (protocol.Ident{Rank: 0, Inc: 2}) || v.Cause.Code != protocol.Restarted {
		t.Errorf("a comes back: %v because %v, want a/2, restarted", v.Leader, v.Cause)
	}
	if got := silence(t, m, now); got != 120*time.Millisecond {
		t.Errorf("after a restart a may be silent for %v, want the first time-out", got)
	}
}

func TestRestartBeforeSuspicionIsSeen(t *testing.T) {
	m, _ := start(t, 1, 2)
	drivetest.Step(m, 0, ok(0, 1, 7))
	v := lastView(t, drivetest.Step(m, 10*ms, ok(0, 2, 1)))
	if v.Leader != (protocol.Ident{Rank: 0, Inc: 2}) || v.Cause.Code != protocol.Restarted {
		t.Errorf("a restarted at once: %v because %v, want a/2, restarted", v.Leader, v.Cause)
	}
}

func TestOldAndRepeatedOKsAreNoSignOfLife(t *testing.T) {
	for name, late := range map[string]*protocol.Receive{
		"duplicate":           ok(0, 2, 5),
		"overtaken":           ok(0, 2, 4),
		"earlier incarnation": ok(0, 1, 99),
		"a stranger":          ok(7, 1, 1),
		"oneself":             ok(1, 9, 1),
	} {
		m, _ := start(t, 1, 2)
		drivetest.Step(m, 0, ok(0, 2, 5))
		if e := drivetest.Step(m, 100*ms, late); len(e.Views) != 0 {
			t.Errorf("%s: changed the view to %+v", name, e.Views)
		}
		if e := drivetest.Step(m, 120*ms, protocol.Tick{}); len(e.Views) != 1 {
			t.Errorf("%s: kept a trusted beyond its time-out", name)
		}
	}
}

func TestLateTickIsMadeUpForOnce(t *testing.T) {
	m, _ := start(t, 0, 3)
	e := drivetest.Step(m, 10_000*ms, protocol.Tick{})
	if len(e.Send) != 2 {
		t.Errorf("a tick ten seconds late sends %d messages, want one to each of two", len(e.Send))
	}
	if e := drivetest.Step(m, 10_000*ms+1, protocol.Tick{}); len(e.Send) != 0 || len(e.Views) != 0 || len(e.Facts) != 0 {
		t.Errorf("a second tick does something: %+v", e)
	}
}

func TestWakeIsNeverInThePast(t *testing.T) {
	m, e := start(t, 1, 3)
	for now := protocol.Time(0); now < 2000*ms; {
		if e.Wake <= now {
			t.Fatalf("at %v the machine wants to be woken at %v", now, e.Wake)
		}
		now = e.Wake
		e = drivetest.Step(m, now, protocol.Tick{})
	}
}

func TestSingleMemberLeadsItself(t *testing.T) {
	m, e := start(t, 0, 1)
	if v := lastView(t, e); v.Leader != (protocol.Ident{Rank: 0, Inc: 1}) {
		t.Errorf("alone: %+v, want a/1", v)
	}
	if e := drivetest.Step(m, 5000*ms, protocol.Tick{}); len(e.Views)+len(e.Send) != 0 {
		t.Errorf("alone, later: %+v, want nothing", e)
	}
}

func TestCopySharesNothing(t *testing.T) {
	a := &rank.OK{Seq: 1}
	b := a.Copy().(*rank.OK)
	a.Seq = 2
	if b.Seq != 1 {
		t.Errorf("the copy follows the original to %d", b.Seq)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*rank.Config){
		"0 members":    func(c *rank.Config) { c.Members = 0 },
		"member 5":     func(c *rank.Config) { c.Self = 5 },
		"period 0s":    func(c *rank.Config) { c.Period = 0 },
		"time-out 1ms": func(c *rank.Config) { c.Timeout = time.Millisecond },
		"growth -1ns":  func(c *rank.Config) { c.Grow = -1 },
		"cap 1ms":      func(c *rank.Config) { c.Cap = time.Millisecond },
	} {
		c := rank.Default(0, 3, 1)
		change(&c)
		if _, err := rank.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

func TestIdleStepDoesNotAllocate(t *testing.T) {
	m, _ := start(t, 2, 5)
	drivetest.Step(m, ms, ok(0, 1, 1))
	var out drivetest.Buffer
	now, seq, r := 2*ms, uint64(2), ok(0, 1, 2)
	allocs := testing.AllocsPerRun(1000, func() {
		now += ms
		seq++
		r.Message.(*rank.OK).Seq = seq
		out.Step(m, now, r)
		out.Step(m, now+1, protocol.Tick{})
	})
	if allocs != 0 {
		t.Errorf("a Step of an idle machine allocates %v times, want none", allocs)
	}
}

func BenchmarkIdleStep(b *testing.B) {
	m, _ := start(b, 2, 5)
	b.ReportAllocs()
	var out drivetest.Buffer
	now := 2 * ms
	for b.Loop() {
		now += ms
		out.Step(m, now, protocol.Tick{})
	}
}

func BenchmarkReceive(b *testing.B) {
	m, _ := start(b, 2, 5)
	b.ReportAllocs()
	var out drivetest.Buffer
	now, r := 2*ms, ok(0, 1, 1)
	for b.Loop() {
		now += ms
		r.Message.(*rank.OK).Seq++
		out.Step(m, now, r)
	}
}
