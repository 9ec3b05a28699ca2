package stable

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

func TestWithPerfectClocksAllLengthsAreThoseOfThePaper(t *testing.T) {
	d := 10 * time.Millisecond
	c := Config{Members: 7, Period: d, Delta: d, Expiry: d}
	for v, k := range map[Variant]time.Duration{Basic: 0, Reliable: 3, Lossy: 7 + 4, Alerting: 6} {
		c.Variant = v
		want := Timing{Period: d, Silence: 2 * d, First: 2 * d, Probe: 2 * d, Hold: 6 * d, Spread: 1, Stable: k * d, Election: 9 * d}
		if got := c.Timing(); got != want {
			t.Errorf("%v: %+v, want %+v", v, got, want)
		}
	}
	c.Ping, c.Gate, c.Variant = true, protocol.Majority(7), Alerting
	if got := c.Timing(); got.Hold != 6*d || got.Stable != 6*d {
		t.Errorf("with a gate alerts count for %v, want 6δ", got.Hold)
	}
	c.Variant = Lossy
	if got := c.Timing(); got.Hold != 8*d || got.Stable != (7+6)*d {
		t.Errorf("without warnings a member that asks first is not heard of for 2δ longer: %+v", got)
	}
}

func TestDriftLengthensWhatMustNotBeTooShort(t *testing.T) {
	c := Config{Members: 3, Period: time.Second, Delta: time.Second, Rho: protocol.DefaultRho}
	got := c.Timing()
	slow, fast := c.Rho.RealAtMost, c.Rho.RealAtLeast
	if fast(got.Period) < c.Period {
		t.Errorf("two OKs may be %v apart, want at least %v", fast(got.Period), c.Period)
	}
	if fast(got.Silence) < slow(got.Period)+c.Delta {
		t.Errorf("a leader may be given up after %v, but its OK may take %v", fast(got.Silence), slow(got.Period)+c.Delta)
	}
	if fast(got.Hold) < slow(got.First)+4*c.Delta {
		t.Errorf("an alert may count for %v only", fast(got.Hold))
	}
	c.Period = 300 * time.Millisecond
	if got := c.Timing(); got.Spread != 4 || got.First != got.Probe || got.Silence >= got.First {
		t.Errorf("with a short period: %+v", got)
	}
}

func TestAlertsKeepWhatMayStillCount(t *testing.T) {
	var a alerts
	a.add(9, 1)
	a.add(5, 2)
	a.add(7, 3) // the one of 5 says no more than this
	if a.n != 2 || a.all[0] != (alert{9, 1}) || a.all[1] != (alert{7, 3}) {
		t.Errorf("%+v", a)
	}
	a.prune(2, 10, 0)
	if a.n != 1 || a.all[0].round != 7 {
		t.Errorf("after the first is too old: %+v", a)
	}
	a.prune(0, 10, 7)
	if a.any() {
		t.Error("the round has come, and the alert still counts")
	}
	a.add(5, 99)
	a.prune(0, 10, 0)
	if a.any() {
		t.Error("an alert from the future counts")
	}
	for i := range uint64(20) {
		a.add(100-i, protocol.Time(i))
	}
	a.prune(19, 19, 80)
	if !a.any() {
		t.Error("too many alerts, and the last one is forgotten")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 members":         func(c *Config) { c.Members = 0 },
		"member 5":          func(c *Config) { c.Self = 5 },
		"variant #9":        func(c *Config) { c.Variant = 9 },
		"candidates {a h}":  func(c *Config) { c.Candidates = protocol.NewSet(0, 7) },
		"period 0s":         func(c *Config) { c.Period = 0 },
		"delta 0s":          func(c *Config) { c.Delta = 0 },
		"expiry 0s":         func(c *Config) { c.Expiry = 0 },
		"expiry 1h0m0s":     func(c *Config) { c.Expiry = time.Hour },
		"without Ping":      func(c *Config) { c.Ping, c.Gate = false, protocol.Majority(3) },
		"gate of 5 members": func(c *Config) { c.Gate = protocol.Majority(5) },
		"rho":               func(c *Config) { c.Rho = -1 },
	} {
		c := Default(0, 3, 1)
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
	c := Default(0, 3, 1)
	c.Variant, c.Expiry = Reliable, 0
	if err := c.Check(); err != nil {
		t.Errorf("on reliable links nothing expires: %v", err)
	}
	if Alerting.String() != "alerting" || Basic.String() != "basic" {
		t.Error("variants have other names")
	}
}

func TestWakeIsNeverInThePast(t *testing.T) {
	for self := range protocol.Rank(3) {
		m, err := New(Default(self, 3, 1))
		if err != nil {
			t.Fatal(err)
		}
		e := drivetest.Step(m, 0, protocol.Start{})
		for now := protocol.Time(0); now < protocol.Time(5*time.Second); {
			if e.Wake <= now || e.Wake == protocol.Never {
				t.Fatalf("at %v the machine wants to be woken at %v", now, e.Wake)
			}
			now = e.Wake
			e = drivetest.Step(m, now, protocol.Tick{})
		}
	}
}

func TestATickTooManyChangesNothing(t *testing.T) {
	m, err := New(Default(1, 3, 1))
	if err != nil {
		t.Fatal(err)
	}
	wake := drivetest.Step(m, 0, protocol.Start{}).Wake
	for now := protocol.Time(1); now < wake; now += 100_000 {
		if e := drivetest.Step(m, now, protocol.Tick{}); len(e.Send)+len(e.Views)+len(e.Facts) != 0 || e.Wake != wake {
			t.Fatalf("at %v: %+v", now, e)
		}
	}
}

func TestCopiesShareNothing(t *testing.T) {
	for _, m := range []protocol.Message{&OK{1, 2}, &START{3}, &ALERT{4}, &STOP{5}, &PING{6, 7}, &PONG{8, 9}} {
		if c := m.Copy(); c == m || c.Name() != m.Name() || !strings.HasPrefix(m.Name(), "stable.") {
			t.Errorf("%s: the copy is %s", m.Name(), c.Name())
		}
	}
	a := &OK{1, 2}
	b := a.Copy().(*OK)
	a.Seq = 9
	if b.Seq != 2 {
		t.Error("the copy follows the original")
	}
}

// steady returns a leader and a follower that have agreed, and a Step of each.
func steady(t testing.TB, members int) (lead, follow func()) {
	t.Helper()
	l, err := New(Default(0, members, 1))
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Default(1, members, 1))
	if err != nil {
		t.Fatal(err)
	}
	var out drivetest.Buffer
	out.Step(l, 0, protocol.Start{})
	out.Step(f, 0, protocol.Start{})
	now, then := protocol.Time(0), protocol.Time(0)
	lead = func() {
		now = now.Add(l.timing.Period)
		out.Step(l, now, protocol.Tick{})
	}
	ok := &OK{}
	in := &protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 1}, Message: ok}
	follow = func() {
		then = then.Add(f.timing.Period)
		ok.Seq++
		out.Step(f, then, in)
	}
	for range 5 {
		lead()
		follow()
	}
	if l.leader.Rank != 0 || f.leader.Rank != 0 {
		t.Fatalf("they follow %v and %v", l.leader, f.leader)
	}
	return lead, follow
}

func TestASteadyStateDoesNotAllocate(t *testing.T) {
	lead, follow := steady(t, 64)
	if n := testing.AllocsPerRun(1000, lead); n != 0 {
		t.Errorf("a leader allocates %v times for each OK", n)
	}
	if n := testing.AllocsPerRun(1000, follow); n != 0 {
		t.Errorf("a follower allocates %v times for each OK", n)
	}
}

func BenchmarkLeaderSaysOK(b *testing.B) {
	lead, _ := steady(b, 5)
	b.ReportAllocs()
	for b.Loop() {
		lead()
	}
}

func BenchmarkFollowerHearsOK(b *testing.B) {
	_, follow := steady(b, 5)
	b.ReportAllocs()
	for b.Loop() {
		follow()
	}
}
