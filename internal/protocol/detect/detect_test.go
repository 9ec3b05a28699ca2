package detect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

const (
	delta = 20 * time.Millisecond
	ms    = protocol.Time(time.Millisecond)
)

// exact has perfect clocks, so that lengths are those of the paper.
func exact(self protocol.Rank, members int) detect.Config {
	return detect.Config{Self: self, Members: members, Inc: 1, Period: delta, Delta: delta, Expiry: delta}
}

func start(t testing.TB, c detect.Config) (*detect.Machine, protocol.Effects) {
	t.Helper()
	m, err := detect.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, drivetest.Step(m, 0, protocol.Start{})
}

func from(r protocol.Rank, inc protocol.Inc, m protocol.Message) *protocol.Receive {
	return &protocol.Receive{From: protocol.Ident{Rank: r, Inc: inc}, Message: m, Delay: time.Millisecond}
}

func all(n int) protocol.Set { return protocol.Everyone(n) }

// sent names the messages of a Step, such as "OK>b ACK>a".
func sent(e protocol.Effects) string {
	var words []string
	for _, s := range e.Send {
		words = append(words, strings.TrimPrefix(s.Message.Name(), "detect.")+">"+s.To.String())
	}
	return strings.Join(words, " ")
}

func TestTheLeaderTrustsWhoAnswers(t *testing.T) {
	m, e := start(t, exact(0, 4))
	if sent(e) != "OK>b OK>c OK>d" || e.Views[0].Support != all(4) {
		t.Fatalf("starts with %q trusting %v", sent(e), e.Views[0].Support)
	}
	// b answers every OK, c only the first, d none.
	drivetest.Step(m, 10*ms, from(2, 1, &detect.ACK{}))
	var dropped []string
	for now := 20 * ms; now <= 200*ms; now += 20 * ms {
		drivetest.Step(m, now-5*ms, from(1, 1, &detect.ACK{}))
		e := drivetest.Step(m, now, protocol.Tick{})
		for _, v := range e.Views {
			dropped = append(dropped, now.String()+" "+v.Support.String())
			if ok := e.Send[0].Message.(*detect.OK); ok.Trust != v.Support {
				t.Errorf("its OK says %v", ok.Trust)
			}
		}
	}
	// An answer may take a period and a round trip: 3δ.
	if got := strings.Join(dropped, ", "); got != "80ms {a b c}, 100ms {a b}" && got != "80ms {a b}" {
		t.Errorf("dropped: %s", got)
	}
	if e := drivetest.Step(m, 500*ms, from(3, 1, &detect.ACK{})); len(e.Views) > 0 && e.Views[0].Support.Has(3) {
		t.Error("who was dropped came back in the same round")
	}
}

func TestAFollowerAnswersAndBelieves(t *testing.T) {
	m, e := start(t, exact(2, 4))
	if sent(e) != "START>a START>b START>d" || e.Views[0].Leader.Rank != 0 {
		t.Fatalf("starts with %q under %v", sent(e), e.Views[0].Leader)
	}
	trust := protocol.NewSet(0, 2, 3)
	e = drivetest.Step(m, ms, from(0, 1, &detect.OK{Seq: 1, Trust: trust}))
	if sent(e) != "ACK>a" || len(e.Views) != 1 || e.Views[0].Support != trust || e.Facts[0].Members != trust {
		t.Errorf("answered %q, views %+v", sent(e), e.Views)
	}
	if e := drivetest.Step(m, 2*ms, from(0, 1, &detect.OK{Seq: 1, Trust: all(4)})); sent(e) != "" || len(e.Views) != 0 {
		t.Errorf("a duplicate changed something: %+v", e)
	}
	if e := drivetest.Step(m, 41*ms, protocol.Tick{}); sent(e) != "" {
		t.Errorf("gave up before 2δ: %q", sent(e))
	}
	if e := drivetest.Step(m, 41*ms+1, protocol.Tick{}); sent(e) != "START>a START>b START>d" || e.Views[0].Leader.Rank != 1 {
		t.Errorf("after 2δ of silence: %q", sent(e))
	}
}

func TestWhoIsMissingStartsTheNextRound(t *testing.T) {
	m, _ := start(t, exact(2, 4))
	e := drivetest.Step(m, ms, from(0, 1, &detect.OK{Seq: 1, Trust: protocol.NewSet(0, 1)}))
	if sent(e) != "START>a START>b START>d" || e.Views[0].Term != 1 || e.Views[0].Support != all(4) {
		t.Errorf("sent %q, view %+v", sent(e), e.Views)
	}
}

func TestAnOKOfALaterRoundIsAnswered(t *testing.T) {
	m, _ := start(t, exact(2, 4))
	if e := drivetest.Step(m, ms, from(1, 1, &detect.OK{Round: 5, Seq: 1, Trust: all(4)})); sent(e) != "START>a START>b START>d ACK>b" {
		t.Errorf("sent %q", sent(e))
	}
	if e := drivetest.Step(m, 2*ms, from(0, 1, &detect.OK{Round: 4, Seq: 1, Trust: all(4)})); sent(e) != "START>a" {
		t.Errorf("who is behind is told %q", sent(e))
	}
	if e := drivetest.Step(m, 2*ms, from(0, 1, &detect.START{Round: 4})); sent(e) != "START>a" {
		t.Errorf("who is behind is told %q", sent(e))
	}
	if e := drivetest.Step(m, 3*ms, from(0, 1, &detect.START{Round: 6})); sent(e) != "OK>a OK>b OK>d" {
		t.Errorf("its own round: %q", sent(e))
	}
}

func TestARestartedLeaderEndsItsRound(t *testing.T) {
	m, _ := start(t, exact(2, 4))
	drivetest.Step(m, ms, from(0, 1, &detect.OK{Seq: 1, Trust: all(4)}))
	e := drivetest.Step(m, 2*ms, from(0, 2, &detect.OK{Seq: 1, Trust: all(4)}))
	if len(e.Views) != 1 || e.Views[0].Term != 1 || e.Views[0].Cause.Code != protocol.Restarted {
		t.Errorf("%+v", e.Views)
	}
}

func TestWhatIsLateFalseOrStrangeIsNotHeard(t *testing.T) {
	late := from(0, 1, &detect.OK{Seq: 1, Trust: all(4)})
	late.Delay = delta + 1
	for name, in := range map[string]*protocol.Receive{
		"late":            late,
		"not its round":   from(1, 1, &detect.OK{Seq: 1, Trust: all(4)}),
		"a stranger":      from(9, 1, &detect.START{Round: 3}),
		"oneself":         from(2, 1, &detect.START{Round: 3}),
		"no such round":   from(1, 1, &detect.START{Round: detect.MaxRound + 1}),
		"not of its time": from(0, 1, &detect.OK{Round: detect.MaxRound + 1, Seq: 1}),
	} {
		m, _ := start(t, exact(2, 4))
		if e := drivetest.Step(m, ms, in); len(e.Send)+len(e.Views) != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*detect.Config){
		"0 members": func(c *detect.Config) { c.Members = 0 },
		"member 5":  func(c *detect.Config) { c.Self = 5 },
		"period 0s": func(c *detect.Config) { c.Period = 0 },
		"expiry 0s": func(c *detect.Config) { c.Expiry = 0 },
		"expiry 1h": func(c *detect.Config) { c.Expiry = time.Hour },
		"rho":       func(c *detect.Config) { c.Rho = -1 },
	} {
		c := detect.Default(0, 3, 1)
		change(&c)
		if _, err := detect.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

func TestASteadyStateDoesNotAllocate(t *testing.T) {
	m, _ := start(t, detect.Default(1, 64, 1))
	ok := &detect.OK{Trust: all(64)}
	in, now := from(0, 1, ok), protocol.Time(0)
	var out drivetest.Buffer
	if n := testing.AllocsPerRun(1000, func() {
		ok.Seq++
		now += 20 * ms
		out.Step(m, now, in)
	}); n != 0 {
		t.Errorf("a follower allocates %v times for each OK", n)
	}
	a, b := &detect.OK{Seq: 1}, &detect.ACK{Round: 3}
	if c := a.Copy().(*detect.OK); c == a || *c != *a || b.Copy().(*detect.ACK).Round != 3 || (&detect.START{}).Copy() == nil {
		t.Error("copies are not copies")
	}
}

// A leader that restarts comes to the others' round, which may be its own again, with everybody trusted as before: the
// number of the view is news all the same.
func TestALaterRoundOfTheSameLeaderIsNews(t *testing.T) {
	m, _ := start(t, exact(0, 4))
	e := drivetest.Step(m, ms, from(1, 1, &detect.START{Round: 8}))
	if len(e.Views) != 1 || e.Views[0].Term != 8 || e.Views[0].Leader.Rank != 0 || e.Facts[0].Term != 8 {
		t.Errorf("said %+v", e.Views)
	}
	if e := drivetest.Step(m, 2*ms, from(2, 1, &detect.START{Round: 8})); len(e.Views) != 0 {
		t.Errorf("said the same twice: %+v", e.Views)
	}
}
