package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// pair returns two ends that are up in session 1, at 100ms.
func pair(t *testing.T) (a, b *side) {
	t.Helper()
	a, b = newSide(t, 0, 7), newSide(t, 1, 3)
	run(0, 100*ms, a, b)
	a.want("1 tin|1 followed")
	b.want("1 tin|1 followed")
	a.saw, b.saw = nil, nil
	return a, b
}

// want checks which transitions a side went through; alternatives are separated by bars.
func (s *side) want(alternatives string) {
	s.t.Helper()
	got := ""
	for i, c := range s.saw {
		if i > 0 {
			got += ", "
		}
		got += fmt.Sprintf("%d %v", c.Count, c.Why)
		if c.Up != (c.Count%2 == 1) {
			s.t.Errorf("%v: transition %d says up %v", s.me, c.Count, c.Up)
		}
	}
	for want := range strings.SplitSeq(alternatives, "|") {
		if got == want {
			return
		}
	}
	s.t.Errorf("%v went through %q, want %q", s.me, got, alternatives)
}

func TestBothEndsComeUpAsSessionOne(t *testing.T) {
	a, b := pair(t)
	for _, s := range []*side{a, b} {
		if session, up := s.links.Up(1 - s.me.Rank); !up || session != 1 {
			t.Errorf("%v: session %d, up %v", s.me, session, up)
		}
	}
	if got := a.links.Peer(1); got != b.me {
		t.Errorf("a knows b as %v", got)
	}
}

func TestWordsArriveInTheOrderInWhichTheyWereSent(t *testing.T) {
	a, b := pair(t)
	for n := range uint64(5) {
		if !a.say(100*ms, n) {
			t.Fatal("the link is up, but takes no word")
		}
	}
	talk(100*ms, a, b)
	b.heard(0, 1, 2, 3, 4)
}

func TestWordsThatOvertakeOneAnotherAreDeliveredInOrder(t *testing.T) {
	a, b := pair(t)
	for n := range uint64(5) {
		a.say(100*ms, n)
	}
	out := a.take()
	slices.Reverse(out)
	for i, e := range out {
		b.hear(100*ms, a.me, e.Message)
		if i == 3 && len(b.words) > 0 {
			t.Errorf("%v delivered before the first", b.words)
		}
	}
	b.heard(0, 1, 2, 3, 4)
}

func TestALostWordIsSentAgainWithTheNextPing(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	a.take() // lost
	a.say(110*ms, 2)
	talk(110*ms, a, b)
	b.heard()
	run(110*ms, 160*ms, a, b)
	b.heard(1, 2)
}

func TestAWordIsDeliveredOnceHoweverOftenItComes(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	word := a.take()[0].Message
	for range 3 {
		b.hear(100*ms, a.me, word)
	}
	b.heard(1)
	if n := len(b.take()); n != 3 {
		t.Errorf("%d acknowledgements of three copies: each must have one, for the one before may be lost", n)
	}
}

func TestWhatIsAcknowledgedIsNotSentAgain(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	talk(100*ms, a, b)
	run(110*ms, 300*ms, a, b)
	if n := len(a.links.ends[1].out); n != 0 {
		t.Errorf("%d words still on their way", n)
	}
	b.heard(1)
}

func TestNoMoreThanAWindowIsOnItsWay(t *testing.T) {
	a, b := pair(t)
	window := uint64(a.links.config.Window)
	for n := range 2*window + 3 {
		a.say(100*ms, n)
	}
	if n := uint64(len(a.out)); n != window {
		t.Errorf("%d words sent at once, of a window of %d", n, window)
	}
	talk(100*ms, a, b)
	if n := uint64(len(b.words)); n != 2*window+3 {
		t.Errorf("%d words arrived", n)
	}
}

func TestWhatIsFarAheadIsNotKept(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 0)
	word := a.take()[0].Message.(*Word)
	for _, seq := range []uint64{0, uint64(b.links.config.Window) + 1, 1 << 60} {
		word.Seq = seq
		b.hear(100*ms, a.me, word)
	}
	b.heard()
}

func TestWordsThatMustBeDurableSaySoEachTime(t *testing.T) {
	a, _ := pair(t)
	a.links.SendDurable(1, &Word{Number: 1})
	a.flush(100 * ms)
	a.tick(150 * ms)
	for _, e := range a.take() {
		if !e.Durable {
			t.Errorf("%s at count %d does not wait for the disk", e.Message.Name(), e.Message.(*Word).Count)
		}
	}
}

func TestABounceIsCountedAlikeByBothEnds(t *testing.T) {
	a, b := pair(t)
	for now := 100 * ms; now < 400*ms; now += 10 * ms { // nothing gets through
		a.tick(now)
		b.tick(now)
		a.take()
		b.take()
	}
	a.want("2 tout")
	b.want("2 tout")
	run(400*ms, 600*ms, a, b)
	a.want("2 tout, 3 tin|2 tout, 3 followed")
	b.want("2 tout, 3 tin|2 tout, 3 followed")
}

func TestACutInOneDirectionTakesBothEndsDown(t *testing.T) {
	for lost := range protocol.Rank(2) {
		a, b := pair(t)
		for now := 100 * ms; now < 500*ms; now += 10 * ms {
			a.tick(now)
			b.tick(now)
			for _, e := range a.take() {
				if lost != 0 {
					b.hear(now, a.me, e.Message)
				}
			}
			for _, e := range b.take() {
				if lost != 1 {
					a.hear(now, b.me, e.Message)
				}
			}
		}
		a.want("2 tout|2 followed")
		b.want("2 tout|2 followed")
	}
}

func TestAnEchoThatIsOldOrKnownDoesNotKeepALinkUp(t *testing.T) {
	a, b := pair(t)
	a.tick(100 * ms)
	ping := a.take()
	b.hear(100*ms, a.me, ping[len(ping)-1].Message)
	b.tick(140 * ms)
	echoes := b.take()
	echo := echoes[len(echoes)-1].Message
	// It proves contact until 200ms, which is tin after its ping left, however late and often it comes.
	for now := 290 * ms; now < 400*ms; now += 10 * ms {
		a.hear(now, b.me, echo)
	}
	a.want("")
	if wake := a.links.check; wake != at(400*ms) {
		t.Errorf("looks after the link at %v, want %v", wake, at(400*ms))
	}
	a.hear(400*ms, b.me, echo)
	a.want("2 tout")
}

func TestAnEndIsDownOneToutAfterTheLastEchoCame(t *testing.T) {
	a, b := pair(t)
	a.tick(100 * ms)
	for _, e := range a.take() {
		b.hear(100*ms, a.me, e.Message)
	}
	b.tick(140 * ms)
	for _, e := range b.take() {
		a.hear(140*ms, b.me, e.Message)
	}
	a.tick(340*ms - 1)
	a.want("")
	if wake := a.links.Wake(); wake != at(340*ms) {
		t.Errorf("wakes at %v, want %v", wake, at(340*ms))
	}
	a.tick(340 * ms)
	a.want("2 tout")
}

func TestAnEndComesUpOnlyWhenTheOtherHasSeenItGoDown(t *testing.T) {
	a, b := pair(t)
	a.tick(400 * ms)
	a.want("2 tout")
	a.take()
	// Contact is as fresh as can be, but what proves it was said before b knew.
	fresh := Ping{Header{Peer: a.me.Inc, Count: 1, Ping: 5, Echo: at(400*ms) - a.links.zero}}
	a.hear(410*ms, b.me, &fresh)
	a.want("2 tout")
	fresh.Count = 2
	a.hear(420*ms, b.me, &fresh)
	a.want("2 tout, 3 tin")
}

func TestAnEndThatIsTwoBehindFollowsOneByOne(t *testing.T) {
	a, b := newSide(t, 0, 7), newSide(t, 1, 3)
	b.hear(0, a.me, &Ping{Header{Ping: 1}})
	b.hear(10*ms, a.me, &Ping{Header{Peer: 3, Count: 2, Ping: 2}})
	b.want("1 followed, 2 followed")
}

func TestAnUpThatIsFollowedWithoutContactIsOverAtOnce(t *testing.T) {
	a, b := newSide(t, 0, 7), newSide(t, 1, 3)
	b.hear(10*ms, a.me, &Ping{Header{Peer: 3, Count: 1, Ping: 2}})
	b.want("1 followed, 2 tout")
}

func TestWhatWasNotDeliveredIsLostWithItsSessionAtBothEnds(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	a.say(100*ms, 2)
	late := a.take()
	b.hear(100*ms, a.me, late[1].Message) // kept by b until the first comes
	b.take()
	a.tick(400 * ms)
	b.tick(400 * ms)
	if a.say(400*ms, 3) {
		t.Error("a link that is down takes a word")
	}
	b.hear(400*ms, a.me, late[0].Message)
	run(410*ms, 600*ms, a, b)
	b.hear(600*ms, a.me, late[0].Message)
	a.say(600*ms, 4)
	talk(600*ms, a, b)
	run(610*ms, 700*ms, a, b)
	b.heard(4)
	if session, up := a.links.Up(1); !up || session != 3 {
		t.Errorf("session %d, up %v, want 3", session, up)
	}
}

func TestAnAcknowledgementOfAnEarlierSessionDoesNotCount(t *testing.T) {
	a, b := pair(t)
	for n := range uint64(3) {
		a.say(100*ms, n)
	}
	for _, e := range a.take() {
		b.hear(100*ms, a.me, e.Message)
	}
	acks := b.take()
	a.tick(400 * ms)
	b.tick(400 * ms)
	run(410*ms, 600*ms, a, b)
	a.say(600*ms, 9)
	a.take() // lost
	for _, e := range acks {
		a.hear(600*ms, b.me, e.Message)
	}
	run(610*ms, 700*ms, a, b)
	b.heard(0, 1, 2, 9)
}

func TestANewIncarnationEndsTheSessionAndBeginsAnotherHistory(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	old := a.take()
	again := newSide(t, 1, 4)
	run(110*ms, 300*ms, a, again)
	a.want("2 restarted, 1 tin|2 restarted, 1 followed")
	if a.saw[0].Peer != b.me || a.saw[1].Peer != again.me {
		t.Errorf("the changes are about %v and %v", a.saw[0].Peer, a.saw[1].Peer)
	}
	for _, e := range old { // meant for the earlier incarnation
		again.hear(300*ms, a.me, e.Message)
	}
	again.heard()
	b.tick(300 * ms)
	a.saw = nil
	for _, e := range b.take() { // from the earlier incarnation
		a.hear(300*ms, b.me, e.Message)
	}
	a.want("")
	if got := a.links.Peer(1); got != again.me {
		t.Errorf("a knows b as %v", got)
	}
}

func TestWhatNoPeerWouldSaySaysNothing(t *testing.T) {
	const much = 1 << 60
	good := Header{Peer: 7, Count: 1, Ping: 9, Echo: 1}
	for name, c := range map[string]struct {
		from protocol.Ident
		m    protocol.Message
	}{
		"a stranger":                      {protocol.Ident{Rank: 9, Inc: 1}, &Ping{good}},
		"oneself":                         {protocol.Ident{Rank: 0, Inc: 8}, &Ping{good}},
		"without an incarnation":          {protocol.Ident{Rank: 1}, &Ping{good}},
		"an earlier incarnation":          {protocol.Ident{Rank: 1, Inc: 2}, &Ping{good}},
		"no message of links":             {protocol.Ident{Rank: 1, Inc: 3}, &plain{}},
		"three ahead":                     {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 7, Count: 4, Echo: 1}}},
		"far ahead":                       {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 7, Count: much, Echo: 1}}},
		"an acknowledgement of the moon":  {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 7, Count: 1, Ack: much}}},
		"an echo of what was never said":  {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 7, Count: 1, Echo: much}}},
		"a word for another incarnation":  {protocol.Ident{Rank: 1, Inc: 3}, &Word{Header{Peer: 6, Count: 1, Seq: 1}, 1}},
		"a word of no session":            {protocol.Ident{Rank: 1, Inc: 3}, &Word{Header{Peer: 7, Count: 0, Seq: 1}, 1}},
		"news for another incarnation":    {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 6, Count: 2}}},
		"times before anything was heard": {protocol.Ident{Rank: 1, Inc: 3}, &Ping{Header{Peer: 7, Count: 1, Ping: -much, Echo: -much}}},
	} {
		a, _ := pair(t)
		contact := a.links.ends[1].contact
		a.hear(100*ms, c.from, c.m)
		a.want("")
		if len(a.words) > 0 || a.links.ends[1].contact != contact {
			t.Errorf("%s: heard %v, contact %v after %v", name, a.words, a.links.ends[1].contact, contact)
		}
	}
}

func TestATickBetweenTimesSendsNothing(t *testing.T) {
	a, b := pair(t)
	a.tick(101 * ms)
	talk(101*ms, a, b)
	next := a.links.Wake()
	for now := 102 * ms; at(now) < next; now += ms {
		a.tick(now)
		if n := len(a.take()); n > 0 || a.links.Wake() != next {
			t.Fatalf("at %v: %d messages, wakes at %v instead of %v", now, n, a.links.Wake(), next)
		}
	}
	a.tick(time.Duration(next - at(0)))
	if n := len(a.take()); n != 1 {
		t.Errorf("%d messages when a ping is due", n)
	}
}

func TestLinksOfOneMemberAreNone(t *testing.T) {
	l, err := New(Default(0, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	l.Flush(at(0), &out)
	if len(out.Send) > 0 || l.Send(0, &Word{}) {
		t.Errorf("a member alone sends %v, or takes a word to itself", out)
	}
}

func TestEachMistakeInTheConfigurationIsNamed(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"link: 0 members: must be between 1 and 1000":                                func(c *Config) { c.Members = 0 },
		"link: 1001 members: must be between 1 and 1000":                             func(c *Config) { c.Members = 1001 },
		"link: member 3: must be below 3, the number of members":                     func(c *Config) { c.Self = 3 },
		"link: incarnation 0: make the links when the member knows its incarnation":  func(c *Config) { c.Inc = 0 },
		"link: ping 0s: must be positive":                                            func(c *Config) { c.Ping = 0 },
		"link: tin 50ms: must exceed the ping period 50ms":                           func(c *Config) { c.Tin = c.Ping },
		"link: tout 100ms: must exceed two ping periods of 50ms, and tin 100ms":      func(c *Config) { c.Tout = 2 * c.Ping },
		"link: tout 200ms: must exceed two ping periods of 50ms, and tin 200.0001ms": func(c *Config) { c.Tin = c.Tout + 100 },
		"link: window 0: must be at least 1":                                         func(c *Config) { c.Window = 0 },
	} {
		c := Default(0, 3, 1)
		change(&c)
		if _, err := New(c); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	c := Default(2, 3, 1)
	if _, err := New(c); err != nil {
		t.Error(err)
	}
}

// The next member in a seat has a lower incarnation than the one before it.
func TestNextMemberInASeatBeginsAnew(t *testing.T) {
	a, b := pair(t)
	a.say(100*ms, 1)
	a.links.Vacate(at(101*ms), 1)
	if _, up := a.links.Up(1); up {
		t.Error("CH1: the link to a member that is gone is up")
	}
	a.saw, a.out = nil, nil
	b = newSide(t, 1, b.me.Inc-1)
	run(101*ms, 400*ms, a, b)
	a.want("1 tin|1 followed")
	b.want("1 tin|1 followed")
	if len(b.words) > 0 {
		t.Errorf("the newcomer got %v, which was for the member before it", b.words)
	}
}
