package nerio

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// A valueLog knows all values that were announced, and what each member showed last.
type valueLog struct {
	announced map[announcement]string
	shown     map[*drivetest.Member]map[protocol.Group]*protocol.Value
	life      map[*drivetest.Member]*Machine
}

type announcement struct {
	group          protocol.Group
	leader         protocol.Ident
	token, version uint64
}

// check holds that a view shows only values that its leader announced with its token, and that they never go back.
func (l *valueLog) check(d *driver, m *drivetest.Member) {
	if d.trusting {
		return
	}
	if l.announced == nil {
		l.announced = make(map[announcement]string)
		l.shown = make(map[*drivetest.Member]map[protocol.Group]*protocol.Value)
		l.life = make(map[*drivetest.Member]*Machine)
	}
	if x := d.members[m.Rank].m; l.life[m] != x {
		l.life[m], l.shown[m] = x, make(map[protocol.Group]*protocol.Value)
	}
	for g, v := range m.Views {
		if v.Value == nil {
			continue
		}
		if v.Tenure != 0 {
			l.announced[announcement{g, v.Leader, v.Term, v.Value.Version}] = v.Value.Text
		}
		if text, ok := l.announced[announcement{g, v.Leader, v.Term, v.Value.Version}]; !ok || text != v.Value.Text || v.Value.Token != v.Term {
			d.t.Fatalf("%v: %v shows %+v of %v, which leads %s with token %d and announced no such value", d.Now, m.Rank, v.Value, v.Leader, g, v.Term)
		}
		if old := l.shown[m][g]; old != nil && old.After(v.Value) {
			d.t.Fatalf("%v: %v shows %+v of %s after %+v", d.Now, m.Rank, v.Value, g, old)
		}
		l.shown[m][g] = v.Value
	}
}

// announce lets a member announce a value with its leadership.
func (d *driver) announce(r protocol.Rank, g protocol.Group, value string) {
	d.t.Helper()
	l, leads := d.members[r].m.holder.Lease(g)
	if !leads {
		d.t.Fatalf("%v: %v does not lead %s", d.Now, r, g)
	}
	d.Step(r, protocol.Announce{Group: g, Tenure: l.Tenure, Value: value})
}

// expectValue fails unless all members that are up show this value.
func (d *driver) expectValue(g protocol.Group, want *protocol.Value) {
	d.t.Helper()
	for _, x := range d.members {
		if got := x.Views[g].Value; !x.Down && text(got) != text(want) {
			d.t.Fatalf("%v: %v shows %q as the value of %s, want %q\n%s", d.Now, x.Rank, text(got), g, text(want), d.transcript())
		}
	}
}

func text(v *protocol.Value) string {
	if v == nil {
		return ""
	}
	return v.Text
}

func val(text string) *protocol.Value { return &protocol.Value{Text: text} }

// led returns three members of which the first leads the group g.
func led(t testing.TB) *driver {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	return d
}

func TestEveryMemberLearnsTheValueAndItsChanges(t *testing.T) {
	d := led(t)
	for _, value := range []string{"http://a", "http://b", "", strings.Repeat("x", protocol.MaxValue)} {
		d.announce(0, "g", value)
		d.Run(20 * ms)
		d.expectValue("g", val(value))
	}
	if c := d.members[1].Views["g"].Cause; c.Code != protocol.Announced || c.Peer != 0 {
		t.Errorf("the cause is %v, want announced a", c)
	}
	d.announce(0, "g", strings.Repeat("x", protocol.MaxValue+1))
	d.Step(0, protocol.Announce{Group: "g", Tenure: 99, Value: "of another tenure"})
	d.Step(1, protocol.Announce{Group: "g", Tenure: 1, Value: "of a member that does not lead"})
	d.Run(100 * ms)
	d.expectValue("g", val(strings.Repeat("x", protocol.MaxValue)))
}

func TestAValueIsSentAgainUntilItIsAcknowledged(t *testing.T) {
	for _, lost := range []string{"nerio.Values", "nerio.Noted"} {
		d := led(t)
		n := 0
		d.Drop = func(_, _ protocol.Rank, m protocol.Message) bool {
			if m.Name() == lost {
				n++
				return n <= 6
			}
			return false
		}
		d.announce(0, "g", "x")
		d.Run(500 * ms)
		d.expectValue("g", val("x"))
		if s := d.members[0].m.groups["g"]; !s.missing.Empty() || !s.sending.Empty() {
			t.Errorf("%s lost: %v have not acknowledged it", lost, s.missing)
		}
		before := d.Sent["nerio.Values"]
		d.Run(time.Second)
		if again := d.Sent["nerio.Values"] - before; again != 0 {
			t.Errorf("%s lost: %d messages with values that everybody has", lost, again)
		}
	}
}

// A message that was delayed brings a value that another one has replaced.
func TestALowerVersionNeverReplacesAHigher(t *testing.T) {
	d := led(t)
	d.announce(0, "g", "old")
	d.Run(20 * ms)
	token := d.members[1].Views["g"].Term
	d.announce(0, "g", "new")
	d.Run(20 * ms)
	noted := d.Sent["nerio.Noted"]
	d.Step(1, d.values.late(d, 0, Value{Group: "g", Token: token, Version: 1, Text: "old"}))
	d.expectValue("g", val("new"))
	if d.Sent["nerio.Noted"] == noted {
		t.Error("what is superseded was not acknowledged")
	}
}

// late is a message of a leader that was under way for long.
func (l *valueLog) late(d *driver, from protocol.Rank, v Value) *protocol.Receive {
	return &protocol.Receive{From: d.members[from].m.me(), Message: &Values{Seq: 1 << 40, Values: []Value{v}}, Delay: protocol.Unknown}
}

func TestAValueOfAnotherTokenIsNotTaken(t *testing.T) {
	d := led(t)
	token := d.members[1].Views["g"].Term
	noted := d.Sent["nerio.Noted"]
	d.Step(1, d.values.late(d, 0, Value{Group: "g", Token: token + 1, Version: 1, Text: "of no leader"}))
	d.Step(1, d.values.late(d, 0, Value{Group: "g", Token: token - 1, Version: 1, Text: "of a leader before"}))
	d.Step(1, d.values.late(d, 2, Value{Group: "g", Token: token, Version: 1, Text: "of a member that does not lead"}))
	d.Step(1, d.values.late(d, 0, Value{Group: "h", Token: token, Version: 1, Text: "of an unknown group"}))
	d.Step(1, d.values.late(d, 0, Value{Group: "g", Token: token, Version: 1, Text: strings.Repeat("x", protocol.MaxValue+1)}))
	d.expectValue("g", nil)
	if s := d.members[1].m.groups["g"]; s.value != nil {
		t.Errorf("it took %+v", s.value)
	}
	if d.Sent["nerio.Noted"] != noted {
		t.Error("it acknowledged what it did not take")
	}
}

// A member that is restarted, or was cut off for longer than its promise, may have forgotten all values.
func TestAMemberThatWasAwayLearnsTheValue(t *testing.T) {
	for _, restarted := range []bool{true, false} {
		d := led(t)
		d.announce(0, "g", "before")
		d.Run(50 * ms)
		if restarted {
			d.Crash(2)
		} else {
			d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && (from == 2 || to == 2) }
		}
		d.Run(time.Second)
		before := d.Sent["nerio.Values"]
		d.announce(0, "g", "meanwhile")
		d.Run(time.Second)
		if n := d.Sent["nerio.Values"] - before; n > 3 {
			t.Errorf("%d messages with values while a member was away: it was silent", n)
		}
		if restarted {
			cfg := config(3)
			cfg.Me = 2
			d.boot(cfg)
		} else {
			// It has not seen the group for so long that it forgot it.
			delete(d.members[2].m.groups, "g")
		}
		d.Drop = nil
		d.Run(time.Second)
		d.expect("g", 0, true)
		d.expectValue("g", val("meanwhile"))
		// Nothing changed since, and it forgets again.
		d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && (from == 2 || to == 2) }
		d.Run(time.Second)
		delete(d.members[2].m.groups, "g")
		d.Drop = nil
		d.Run(time.Second)
		d.expectValue("g", val("meanwhile"))
	}
}

func TestTheNextLeaderBeginsWithoutAValue(t *testing.T) {
	d := led(t)
	d.announce(0, "g", "first")
	d.Run(50 * ms)
	first := d.members[1].Views["g"].Term
	d.campaign("g", 1)
	d.Crash(0)
	d.Run(time.Second)
	d.expect("g", 1, true)
	d.expectValue("g", nil)
	d.announce(1, "g", "second")
	d.Run(50 * ms)
	d.expectValue("g", val("second"))
	d.Step(2, d.values.late(d, 0, Value{Group: "g", Token: first, Version: 9, Text: "first"}))
	d.expectValue("g", val("second"))
}

func TestVersionsEndAndDoNotBeginAnew(t *testing.T) {
	d := led(t)
	d.announce(0, "g", "first")
	d.Run(50 * ms)
	last := *d.members[0].m.groups["g"].value
	last.Version = math.MaxUint64 - 1
	d.members[0].m.groups["g"].value = &last
	for _, value := range []string{"last but one", "too many"} {
		d.announce(0, "g", value)
		d.Run(50 * ms)
	}
	d.expectValue("g", val("last but one"))
	if v := d.members[2].Views["g"].Value.Version; v != math.MaxUint64 {
		t.Errorf("version %d, want the highest", v)
	}
}

func TestVerifyReturnsTheLeadersOwnValue(t *testing.T) {
	d := led(t)
	d.Drop = func(_, _ protocol.Rank, m protocol.Message) bool { return m.Name() == "nerio.Values" }
	d.announce(0, "g", "x")
	for r := range protocol.Rank(2) {
		d.Step(r, protocol.Verify{Group: "g", ID: 7})
		d.Run(20 * ms)
		if a := d.members[r].Answers; len(a) != 1 || !a[0].OK || text(a[0].Value) != "x" {
			t.Errorf("the answer to %v is %+v", r, a)
		}
	}
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	d.Step(1, protocol.Verify{Group: "g", ID: 8})
	d.Run(100 * ms)
	if a := d.members[1].Answers[1]; a.OK || a.Value != nil {
		t.Errorf("the answer after the end is %+v", a)
	}
}

// Ten thousand values travel in few messages, and cost nothing once they are known.
func TestValuesOfTenThousandGroupsShareMessages(t *testing.T) {
	const n = 10_000
	d := many(t, n)
	for i := range n {
		d.announce(0, protocol.Group(fmt.Sprintf("group-%05d", i)), fmt.Sprintf("http://10.0.0.1:%d", i))
	}
	most, flight := 0, 0
	at := d.Now
	d.Drop = func(_, to protocol.Rank, m protocol.Message) bool {
		if m.Name() != "nerio.Values" || to != 1 {
			return false
		}
		if d.Now != at {
			at, flight = d.Now, 0
		}
		flight++
		most = max(most, flight)
		return false
	}
	d.Run(time.Second)
	for i := range n {
		for _, x := range d.members {
			if g := protocol.Group(fmt.Sprintf("group-%05d", i)); text(x.Views[g].Value) != fmt.Sprintf("http://10.0.0.1:%d", i) {
				t.Fatalf("%v shows %+v as the value of %s", x.Rank, x.Views[g].Value, g)
			}
		}
	}
	// A value takes 11 bytes of name, 21 of text, and what valueSize says.
	if sent, few := d.Sent["nerio.Values"], 2*(n/15); sent > few {
		t.Errorf("%d messages, want at most %d", sent, few)
	}
	if most > maxScanned/15 {
		t.Errorf("%d messages at one instant: a flight has %d values", most, maxScanned)
	}
	r := newRound(d)
	for range 5 {
		r.play()
	}
	if sent := r.play(); sent != 4 {
		t.Errorf("%d messages per renewal, want 2 requests and 2 answers", sent)
	}
	if allocs := testing.AllocsPerRun(100, func() { r.play() }); allocs != 0 {
		t.Errorf("%v allocations per renewal, want none", allocs)
	}
}

func TestValueOnItsWayWhenTheMemberAsksDoesNotHoldUpTheNext(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	d.announce(0, "g", "old")
	for len(d.members[0].m.values.peers[1].flying) == 0 {
		d.Run(ms)
	}
	d.Step(0, d.later(0, 1000))
	d.Run(5 * time.Second)
	d.expect("g", 0, true)
	d.announce(0, "g", "new")
	d.Run(200 * ms)
	for r := range 3 {
		if v := d.members[r].Views["g"].Value; v == nil || v.Text != "new" {
			t.Errorf("%d shows %v", r, v)
		}
	}
}

func TestPromiseOfAnotherLengthSendsNoValueAgain(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.announce(0, "g", "here")
	d.Run(500 * ms)
	sent := d.Sent["nerio.Values"]
	if sent == 0 {
		t.Fatal("no value was sent")
	}
	for range 3 {
		d.Step(0, protocol.Campaign{Group: "job", Length: 300 * ms})
		d.Run(time.Second)
		d.expect("job", 0, true)
		d.Step(0, protocol.Resign{Group: "job"})
		d.Run(2 * time.Second)
	}
	if more := d.Sent["nerio.Values"] - sent; more > 0 {
		t.Errorf("%d messages with values that all members have", more)
	}
}

func TestStoppingLeaderSendsItsValueToTheRestarted(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.announce(0, "g", "here")
	d.Run(500 * ms)
	d.members[0].obeys = false
	d.Step(0, protocol.Resign{Group: "g"})
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	if v := d.members[1].Views["g"].Value; v == nil || v.Text != "here" {
		t.Errorf("the restarted member shows %v", v)
	}
}

// A leadership begins with the value of its campaign: its first view has it, and no member shows the leader without the value after that.
func TestALeadershipBeginsWithTheValueOfItsCampaign(t *testing.T) {
	d := newDriver(t, config(3))
	d.Step(0, protocol.Campaign{Group: "g", Value: "http://old"})
	d.Step(0, protocol.Campaign{Group: "g", Value: "http://a"})
	bare := 0
	d.Net.View = func(m *drivetest.Member, v *protocol.View) {
		if v.Tenure != 0 && v.Value == nil {
			bare++
		}
	}
	d.Run(200 * ms)
	d.expect("g", 0, true)
	d.expectValue("g", val("http://a"))
	if bare != 0 {
		t.Errorf("the leader shows %d views of its leadership without the value", bare)
	}
	d.announce(0, "g", "http://a:2")
	d.Run(20 * ms)
	d.expectValue("g", val("http://a:2"))
	d.Step(0, protocol.Resign{Group: "g"})
	d.Step(0, protocol.Stopped{Group: "g"})
	d.Run(200 * ms)
	d.campaign("g", 0)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	d.expectValue("g", val(""))
}

// Values wait for groups that wait to be tried for, and not for ever: those may never be led.
func TestValuesWaitForElectionsButNotForEver(t *testing.T) {
	d := led(t)
	m := d.members[0].m
	m.queue = append(m.queue, &groupState{group: "never", queued: true})
	p := new(valuePeer)
	for range maxWaits {
		if !m.electing(p) {
			t.Fatal("values do not wait although groups wait to be tried for")
		}
	}
	if m.electing(p) {
		t.Error("values wait for ever")
	}
	if !m.electing(p) {
		t.Error("values waited once, and never again")
	}
	m.queue = nil
	if m.electing(p) {
		t.Error("values wait for nothing")
	}
}
