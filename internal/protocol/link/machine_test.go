package link

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// A council is members that hear one another at once.
type council struct {
	machines []*Machine
	incoming protocol.Receive
	buffer   drivetest.Buffer
	facts    []protocol.Fact
	messages int
	out      [][]protocol.Envelope // by depth of step: what is on its way
	depth    int
}

func newCouncil(t testing.TB, n int, talk time.Duration) *council {
	t.Helper()
	c := &council{}
	for r := range protocol.Rank(n) {
		m, err := NewMachine(Default(r, n, 1), talk, uint64(r))
		if err != nil {
			t.Fatal(err)
		}
		c.machines = append(c.machines, m)
	}
	for r := range c.machines {
		c.step(protocol.Rank(r), at(0), protocol.Start{})
	}
	return c
}

// step lets a member take an event, and the others what it sends.
func (c *council) step(r protocol.Rank, now protocol.Time, ev protocol.Event) {
	eff := c.buffer.Step(c.machines[r], now, ev)
	c.facts = append(c.facts, eff.Facts...)
	if c.depth == len(c.out) {
		c.out = append(c.out, nil)
	}
	out := append(c.out[c.depth][:0], eff.Send...)
	c.out[c.depth] = out
	c.depth++
	defer func() { c.depth-- }()
	for _, e := range out {
		c.messages++
		c.incoming = protocol.Receive{From: protocol.Ident{Rank: r, Inc: 1}, Message: e.Message, Delay: protocol.Unknown}
		c.step(e.To, now, &c.incoming)
	}
}

// tick lets everybody do what is due.
func (c *council) tick(now protocol.Time) {
	for r := range c.machines {
		c.step(protocol.Rank(r), now, protocol.Tick{})
	}
}

// count counts facts of a kind, and forgets them all.
func (c *council) count(ev protocol.Ev) (n int) {
	for _, f := range c.facts {
		if f.Ev == ev {
			n++
		}
	}
	c.facts = c.facts[:0]
	return n
}

// idle lets periods pass in which nothing happens but pings.
func (c *council) idle(from protocol.Time, periods int) protocol.Time {
	for range periods {
		from = from.Add(50 * ms)
		c.tick(from)
	}
	return from
}

func TestAMemberSaysAWordWhenToldTo(t *testing.T) {
	c := newCouncil(t, 3, 0)
	now := c.idle(at(0), 3)
	if n := c.count(protocol.EvLink); n != 6 {
		t.Fatalf("%d transitions until all three links are up", n)
	}
	c.step(0, now, protocol.Transfer{To: 2})
	c.step(0, now, protocol.Transfer{To: 0})
	c.step(0, now, protocol.Transfer{To: 9})
	if posted, taken := c.machines[2].links.ends[0].took, c.count(protocol.EvTake); posted != 1 || taken != 1 {
		t.Errorf("told three times, of which one makes sense: %d posted, %d taken", posted, taken)
	}
	c.idle(now, 100)
	if n := c.count(protocol.EvPost); n != 0 {
		t.Errorf("a member that is to say nothing said %d words", n)
	}
}

func TestMembersChatByThemselves(t *testing.T) {
	c := newCouncil(t, 3, 100*ms)
	c.idle(at(0), 400)
	posted := 0
	for _, f := range c.facts {
		if f.Ev == protocol.EvPost {
			posted++
		}
	}
	if taken := c.count(protocol.EvTake); posted < 500 || taken != posted {
		t.Errorf("%d words posted in 20s, %d taken", posted, taken)
	}
}

// An idle link costs two pings a period, whatever the state of it.
func TestAnIdleCouncilSendsOnePingToEachPeerInAPeriod(t *testing.T) {
	c := newCouncil(t, 5, 0)
	now := c.idle(at(0), 10)
	c.messages = 0
	c.idle(now, 100)
	if c.messages != 5*4*100 {
		t.Errorf("%d messages in 100 periods of five members", c.messages)
	}
}

func TestAnIdleStepAllocatesNothing(t *testing.T) {
	c := newCouncil(t, 5, 0)
	now := c.idle(at(0), 10)
	if n := testing.AllocsPerRun(200, func() { now = c.idle(now, 1) }); n != 0 {
		t.Errorf("%v allocations in a period of five members", n)
	}
}

// One operation is one Step. The period of an idle council of so many is n ticks, and n-1 pings received by each.
func BenchmarkIdleStep(b *testing.B) {
	for _, n := range []int{5, 50} {
		b.Run(fmt.Sprint(n, " members"), func(b *testing.B) {
			c := newCouncil(b, n, 0)
			now := c.idle(at(0), 10)
			c.facts = nil
			b.ReportAllocs()
			b.ResetTimer()
			for steps := 0; steps < b.N; steps += n * n {
				now = c.idle(now, 1)
			}
		})
	}
}

// One operation is a word to one of five members, and its acknowledgement: the word is copied once.
func BenchmarkWord(b *testing.B) {
	c := newCouncil(b, 5, 0)
	now := c.idle(at(0), 10)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.facts = c.facts[:0]
		now = now.Add(ms)
		if i%20 == 0 {
			c.tick(now)
		}
		c.machines[0].say(1)
		c.step(0, now, protocol.Tick{})
	}
}
