package stable_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/stable"
)

const (
	delta = 20 * time.Millisecond
	ms    = protocol.Time(time.Millisecond)
)

// exact is Fig. 4 with perfect clocks, so that lengths are those of the paper.
func exact(self protocol.Rank, members int) stable.Config {
	return stable.Config{Self: self, Members: members, Inc: 1, Period: delta, Delta: delta, Expiry: delta}
}

// A bench is a machine with hands to work it.
type bench struct {
	drivetest.Hand
	t testing.TB
}

func start(t testing.TB, c stable.Config) *bench {
	t.Helper()
	m, err := stable.New(c)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{drivetest.Hand{Machine: m}, t}
	b.Step(protocol.Start{})
	return b
}

// receive lets a message of a member's first incarnation come in at the given time, in time.
func (b *bench) receive(at protocol.Time, from protocol.Rank, m protocol.Message) *bench {
	return b.receiveAs(at, protocol.Ident{Rank: from, Inc: 1}, m, time.Millisecond)
}

func (b *bench) receiveAs(at protocol.Time, from protocol.Ident, m protocol.Message, delay time.Duration) *bench {
	b.Now = at
	b.Receive(from, m, delay)
	return b
}

func (b *bench) tick(at protocol.Time) *bench {
	b.Tick(at)
	return b
}

// sent returns what the last Step sent, such as "ALERT(1)>b START(1)>b".
func (b *bench) sent() string {
	var all []string
	for _, e := range b.Last.Send {
		all = append(all, word(e.Message)+">"+e.To.String())
	}
	return strings.Join(all, " ")
}

func word(m protocol.Message) string {
	round := uint64(0)
	switch m := m.(type) {
	case *stable.OK:
		round = m.Round
	case *stable.START:
		round = m.Round
	case *stable.ALERT:
		round = m.Round
	case *stable.STOP:
		round = m.Round
	case *stable.PING:
		round = m.Round
	case *stable.PONG:
		round = m.Round
	}
	return strings.TrimPrefix(m.Name(), "stable.") + "(" + string(rune('0'+round)) + ")"
}

func (b *bench) wantSent(want string) {
	b.t.Helper()
	if got := b.sent(); got != want {
		b.t.Errorf("at %v: sent %q, want %q", b.Now, got, want)
	}
}

// wantView checks the last view of the last Step: whom it names, and why. "" stands for no view.
func (b *bench) wantView(want string) {
	b.t.Helper()
	got := ""
	if n := len(b.Last.Views); n > 0 {
		v := b.Last.Views[n-1]
		got = v.Leader.String() + ": " + v.Cause.String()
	}
	if got != want {
		b.t.Errorf("at %v: view %q, want %q", b.Now, got, want)
	}
}

func ok(round, seq uint64) *stable.OK { return &stable.OK{Round: round, Seq: seq} }

func TestFig1LeadsAtOnceAndWakesTheNextLeaderOnly(t *testing.T) {
	c := exact(2, 3)
	c.Variant = stable.Basic
	b := start(t, c)
	b.wantSent("START(0)>a")
	b.wantView("a/0: started")
	b.tick(40 * ms)
	b.wantSent("")
	b.tick(40*ms + 1)
	b.wantSent("START(1)>b")
	b.wantView("b/0: suspected a (silent for 40.000001ms)")
	b.receive(50*ms, 1, ok(1, 1)).wantView("b/1: elected b")
	b.receive(51*ms, 0, ok(0, 9)).wantSent("")
	b.receive(52*ms, 0, &stable.START{Round: 5})
	b.wantSent("OK(5)>a OK(5)>b")
	b.wantView("c/1: doubted a")
}

func TestFig2StopsTheLeaderThatItLeaves(t *testing.T) {
	c := exact(2, 3)
	c.Variant = stable.Reliable
	b := start(t, c)
	b.tick(40*ms + 1).wantSent("STOP(0)>a START(1)>b")
	a := exact(0, 3)
	a.Variant = stable.Reliable
	l := start(t, a)
	l.wantSent("OK(0)>b OK(0)>c")
	l.tick(20 * ms).wantView("a/1: elected a")
	l.receive(30*ms, 2, &stable.STOP{Round: 0}).wantSent("START(1)>b")
	l.wantView("nobody: doubted c")
	l.receive(31*ms, 2, &stable.STOP{Round: 0}).wantSent("")
	// What is late still counts on reliable links.
	l.receiveAs(32*ms, protocol.Ident{Rank: 2, Inc: 1}, &stable.START{Round: 4}, protocol.Unknown).wantSent("START(4)>b")
}

func TestALeaderTakesTwoOKs(t *testing.T) {
	for _, v := range []stable.Variant{stable.Reliable, stable.Lossy, stable.Alerting} {
		c := exact(2, 3)
		c.Variant = v
		b := start(t, c)
		b.receive(5*ms, 0, ok(0, 1)).wantView("")
		b.receive(25*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	}
}

func TestADuplicateIsNoSecondOK(t *testing.T) {
	b := start(t, exact(2, 3))
	b.receive(5*ms, 0, ok(0, 7)).wantView("")
	b.receive(6*ms, 0, ok(0, 7)).wantView("")
	// Nor is it a sign of life: 2δ after the first one the leader is silent.
	b.tick(45*ms + 1).wantSent("ALERT(1)>a ALERT(1)>b START(1)>a START(1)>b")
}

func TestTwoOKsThatOvertakeOneAnotherAreTwo(t *testing.T) {
	b := start(t, exact(2, 3))
	b.receive(25*ms, 0, ok(0, 2)).wantView("")
	b.receive(26*ms, 0, ok(0, 1)).wantView("a/1: elected a")
}

func TestWithAShortPeriodOKsMustBeDeltaApart(t *testing.T) {
	c := exact(2, 3)
	c.Period = delta / 4
	b := start(t, c)
	for seq := uint64(1); seq <= 4; seq++ {
		b.receive(protocol.Time(seq)*5*ms, 0, ok(0, seq)).wantView("")
	}
	b.receive(25*ms, 0, ok(0, 5)).wantView("a/1: elected a")
	// It may be silent for a period and δ.
	b.tick(50 * ms).wantView("")
	b.tick(50*ms + 1).wantView("nobody: suspected a (silent for 25.000001ms)")
}

func TestTheLeaderOfANewRoundHasARoundTripToAnswer(t *testing.T) {
	c := exact(2, 3)
	c.Period = delta / 4
	b := start(t, c)
	b.tick(40 * ms).wantSent("")
	b.tick(40*ms + 1).wantSent("ALERT(1)>a ALERT(1)>b START(1)>a START(1)>b")
}

func TestTheLeaderHearsItself(t *testing.T) {
	b := start(t, exact(0, 3))
	b.wantSent("ALERT(0)>b ALERT(0)>c OK(0)>b OK(0)>c")
	b.tick(20*ms - 1).wantSent("")
	b.tick(20 * ms).wantSent("OK(0)>b OK(0)>c")
	b.wantView("a/1: elected a")
	b.tick(500 * ms).wantSent("OK(0)>b OK(0)>c")
	b.tick(500*ms + 1).wantSent("")
}

func TestEveryWarningGoesOutBeforeTheFirstStart(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(ms, 1, &stable.START{Round: 2}).wantSent("ALERT(2)>a ALERT(2)>b ALERT(2)>c START(2)>a START(2)>b START(2)>c")
}

func TestWhoIsBehindIsBroughtUp(t *testing.T) {
	for _, v := range []stable.Variant{stable.Lossy, stable.Alerting} {
		c := exact(3, 4)
		c.Variant = v
		b := start(t, c)
		b.receive(ms, 1, &stable.START{Round: 2})
		b.receive(2*ms, 0, ok(0, 1)).wantSent("START(2)>a")
		b.receive(3*ms, 1, &stable.START{Round: 1}).wantSent("START(2)>b")
		b.receive(3*ms, 1, &stable.START{Round: 2}).wantSent("")
	}
}

func TestAnOKOfALaterRoundIsItsFirst(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(5*ms, 1, ok(5, 1)).wantSent("ALERT(5)>a ALERT(5)>b ALERT(5)>c START(5)>a START(5)>b START(5)>c")
	b.receive(25*ms, 1, ok(5, 2)).wantView("b/1: elected b")
	if v := b.Last.Views[0]; v.Term != 5 || b.Last.Facts[0].Term != 5 || v.Domain != protocol.Elector {
		t.Errorf("the view is %+v, want the number 5", v)
	}
}

func TestAnAlertSuspendsTheLeaderForSixDelta(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(0, 0, ok(0, 1))
	b.receive(20*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	b.receive(30*ms, 2, &stable.ALERT{Round: 1}).wantView("nobody: doubted c")
	for i := uint64(3); i < 9; i++ {
		b.receive(protocol.Time(i-1)*20*ms, 0, ok(0, i)).wantView("")
	}
	b.receive(150*ms, 0, ok(0, 9)).wantView("")
	b.receive(150*ms+1, 0, ok(0, 10)).wantView("a/1: elected a")
}

func TestAnAlertOfThisRoundOrAnEarlierOneSaysNothing(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(0, 0, &stable.START{Round: 4})
	b.receive(0, 0, ok(4, 1))
	b.receive(ms, 2, &stable.ALERT{Round: 4}).wantView("")
	b.receive(20*ms, 0, ok(4, 2)).wantView("a/1: elected a")
	b.receive(21*ms, 2, &stable.ALERT{Round: 3}).wantView("")
}

func TestAnAlertCountsUntilItsRoundHasCome(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(ms, 2, &stable.ALERT{Round: 2})
	b.receive(2*ms, 2, &stable.START{Round: 2})
	b.receive(3*ms, 2, ok(2, 1))
	b.receive(23*ms, 2, ok(2, 2)).wantView("c/1: elected c")
}

func TestWhatIsLateIsNotHeard(t *testing.T) {
	for _, delay := range []time.Duration{delta + 1, time.Hour, protocol.Unknown} {
		b := start(t, exact(3, 4))
		b.receiveAs(5*ms, protocol.Ident{Rank: 1, Inc: 1}, ok(5, 1), delay).wantSent("")
		b.receiveAs(5*ms, protocol.Ident{Rank: 1, Inc: 1}, &stable.ALERT{Round: 5}, delay)
		b.receive(6*ms, 0, ok(0, 1))
		b.receive(26*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	}
}

func TestARestartedLeaderIsNotTheSameLeader(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(5*ms, 0, ok(0, 1))
	b.receive(25*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	b.receiveAs(30*ms, protocol.Ident{Rank: 0, Inc: 2}, ok(0, 1), 0).wantView("nobody: restarted a")
	b.wantSent("ALERT(1)>a ALERT(1)>b ALERT(1)>c START(1)>a START(1)>b START(1)>c")
	// Its earlier life is over.
	b.receiveAs(31*ms, protocol.Ident{Rank: 0, Inc: 1}, ok(4, 9), 0).wantSent("")
}

func TestStrangersAndLiarsAreNotHeard(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(ms, 9, &stable.START{Round: 3}).wantSent("")
	b.receive(ms, 3, &stable.START{Round: 3}).wantSent("")
	b.receive(ms, 1, ok(4, 1)).wantSent("")
	b.receive(ms, 1, &stable.START{Round: stable.MaxRound + 1}).wantSent("")
	b.receive(ms, 1, ok(stable.MaxRound+1, 1)).wantSent("")
	b.receive(ms, 1, &stable.STOP{Round: 3}).wantSent("")
}

func TestFig5AsksWhoIsAliveAndSkipsTheDead(t *testing.T) {
	c := exact(4, 5)
	c.Ping = true
	b := start(t, c)
	b.receive(0, 0, ok(0, 1))
	b.receive(20*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	b.tick(60*ms + 1).wantSent("ALERT(1)>a ALERT(1)>b ALERT(1)>c ALERT(1)>d PING(0)>a PING(0)>b PING(0)>c PING(0)>d")
	b.wantView("nobody: suspected a (silent for 40.000001ms)")
	ping := b.Last.Send[len(b.Last.Send)-1].Message.(*stable.PING)
	b.receive(70*ms, 3, &stable.PONG{Round: 0, Seq: ping.Seq})
	b.receive(70*ms, 2, &stable.PONG{Round: 0, Seq: ping.Seq + 1}) // of another probe
	b.tick(100*ms + 1).wantSent("")
	b.tick(100*ms + 2).wantSent("ALERT(3)>a ALERT(3)>b ALERT(3)>c ALERT(3)>d START(3)>a START(3)>b START(3)>c START(3)>d")
}

func TestEveryVariantCanAsk(t *testing.T) {
	for v, want := range map[stable.Variant]string{
		stable.Basic: "START(3)>d", stable.Reliable: "STOP(0)>a START(3)>d",
		stable.Lossy: "START(3)>a START(3)>b START(3)>c START(3)>d",
	} {
		c := exact(4, 5)
		c.Ping, c.Variant = true, v
		b := start(t, c)
		b.tick(40*ms + 1).wantSent("PING(0)>a PING(0)>b PING(0)>c PING(0)>d")
		b.receive(70*ms, 3, &stable.PONG{Round: 0, Seq: 1})
		b.tick(100 * ms).wantSent(want)
	}
}

func TestAPingIsAnsweredInAnyRound(t *testing.T) {
	b := start(t, exact(3, 4))
	b.receive(0, 1, &stable.PING{Round: 7, Seq: 3}).wantSent("PONG(7)>b")
}

func TestALaterRoundEndsAProbe(t *testing.T) {
	c := exact(4, 5)
	c.Ping = true
	b := start(t, c)
	b.tick(40*ms + 1)
	b.receive(50*ms, 2, ok(2, 1))
	b.receive(70*ms, 2, ok(2, 2)).wantView("c/1: elected c")
	b.tick(100 * ms).wantSent("")
}

// gated is a member of five that must not move on without three.
func gated(t *testing.T) *bench {
	c := exact(4, 5)
	c.Ping, c.Gate = true, protocol.Majority(5)
	return start(t, c)
}

func TestAMemberThatIsCutOffStaysInItsRound(t *testing.T) {
	b := gated(t)
	b.tick(40*ms + 1).wantSent("PING(0)>a PING(0)>b PING(0)>c PING(0)>d")
	for i := range protocol.Time(20) {
		at := 40*ms + 2 + (i+1)*(40*ms+1)
		b.receive(at-10*ms, 1, &stable.PONG{Round: 0, Seq: uint64(i + 1)})
		b.tick(at).wantSent("PING(0)>a PING(0)>b PING(0)>c PING(0)>d")
		if i == 0 {
			b.wantView("nobody: no quorum")
		} else {
			b.wantView("")
		}
	}
	b.receive(b.Now+1, 1, &stable.PONG{Round: 0, Seq: 21})
	b.receive(b.Now+1, 2, &stable.PONG{Round: 0, Seq: 21})
	b.tick(b.Now + 40*ms).wantSent("ALERT(1)>a ALERT(1)>b ALERT(1)>c ALERT(1)>d START(1)>a START(1)>b START(1)>c START(1)>d")
}

func TestWithAGateALeaderThatIsHeardAgainIsKept(t *testing.T) {
	b := gated(t)
	b.receive(0, 0, ok(0, 1))
	b.receive(20*ms, 0, ok(0, 2)).wantView("a/1: elected a")
	b.tick(60*ms + 1).wantView("nobody: suspected a (silent for 40.000001ms)")
	b.receive(70*ms, 0, ok(0, 3)).wantView("a/1: elected a")
	b.tick(105 * ms).wantSent("")
}

func TestUnfitMovesOn(t *testing.T) {
	b := start(t, exact(0, 3))
	b.Now = ms
	b.Step(protocol.Unfit{})
	b.wantSent("") // it does not lead yet
	b.tick(20 * ms).wantView("a/1: elected a")
	b.Now = 30 * ms
	b.Step(protocol.Unfit{})
	b.wantView("nobody: no quorum a")
	b.wantSent("ALERT(1)>b ALERT(1)>c START(1)>b START(1)>c")
}

func TestRoundsRunOverTheCandidates(t *testing.T) {
	c := exact(0, 4)
	c.Candidates = protocol.NewSet(1, 3)
	b := start(t, c)
	b.receive(0, 1, ok(0, 1))
	b.receive(20*ms, 1, ok(0, 2)).wantView("b/1: elected b")
	b.receive(30*ms, 3, ok(5, 1))
	b.receive(50*ms, 3, ok(5, 2)).wantView("d/1: elected d")
	b.receive(60*ms, 2, ok(6, 1)).wantSent("")
}

func TestNobodyAccessibleIsSaid(t *testing.T) {
	b := start(t, exact(3, 4))
	said := 0
	for round := uint64(1); round < 40; round++ {
		at := protocol.Time(round) * 60 * ms
		b.receive(at, protocol.Rank(round%4+1)%4, &stable.START{Round: round})
		for _, v := range b.Last.Views {
			if v.Cause.Code == protocol.NoAccess {
				said++
				if round < 10 {
					t.Errorf("round %d is too soon to say that nobody is accessible", round)
				}
			}
		}
	}
	if said != 1 {
		t.Errorf("that nobody is accessible was said %d times, want once", said)
	}
	// A leader that lasts is the end of it; then the next change has its own cause again.
	b.receive(10_000*ms, 0, ok(40, 1))
	b.receive(10_020*ms, 0, ok(40, 2)).wantView("a/1: elected a")
	for i := uint64(3); i < 30; i++ {
		b.receive(10_000*ms+protocol.Time(i-1)*20*ms, 0, ok(40, i))
	}
	b.receive(b.Now+ms, 2, &stable.ALERT{Round: 41}).wantView("nobody: doubted c")
}

func TestOneMemberAloneLeadsItself(t *testing.T) {
	b := start(t, exact(0, 1))
	b.tick(20 * ms).wantView("a/1: elected a")
	b.wantSent("")
	b.tick(2000 * ms).wantView("")
}
