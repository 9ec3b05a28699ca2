package suite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// datagramProtocol is the fail-aware datagram layer under members that chat at random. Halted and jumping clocks are left out:
// no bound survives them.
func datagramProtocol() *Protocol {
	const (
		timely = 5 * time.Millisecond
		// 2·timely + 2ρ·MaxAge, where MaxAge is Δ/8ρ.
		delta  = 14 * time.Millisecond
		settle = 2500 * time.Millisecond
	)
	return &Protocol{
		Name:       "datagram",
		About:      "members that chat at random, over fail-aware datagrams",
		Members:    4,
		MinMembers: 2,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return &chatter{self: b.Self, n: b.Members, r: rand.New(rand.NewPCG(b.Seed, 0))}, nil
		},
		Messages: []string{"chat.Word"},
		Configure: func(c *sim.Config) {
			c.Messages = true
			c.Port = pipe.Plain(pipe.Config{Rho: protocol.DefaultRho, Delta: delta, MinDelay: min(c.Link.Delay.Min, timely)})
		},
		Checkers: func(check.Truth) []check.Checker {
			return []check.Checker{check.NewBounded(), check.NewTimely(delta, settle), check.NewOnce(), check.NewPresent()}
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Cut, 4}, {sim.Partition, 2}, {sim.Slow, 8},
			{sim.Lose, 4}, {sim.Duplicate, 8}, {sim.Rate, 4},
		},
		Timely: timely,
		Settle: settle,
		Core:   func(n int) int { return min(2, n) },
		Rows:   []string{ClockFast, ClockSlow, wordProven, wordUnknown, wordSlow, packetLost, packetRefused, memberRestarted},
		Watch:  func(_ check.Truth, hit func(string)) sim.Observer { return chatWatch(hit) },
	}
}

// The rows of its own.
const (
	wordProven      = "delay proven"
	wordUnknown     = "delay unknown"
	wordSlow        = "delay proven above 100ms"
	packetLost      = "packet lost"
	packetRefused   = "packet refused"
	memberRestarted = "member restarted"
)

// chatWatch covers the rows of the datagram layer.
type chatWatch func(row string)

// Observe looks at what becomes of packets.
func (hit chatWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvRestart:
		hit(memberRestarted)
	case sim.EvDrop:
		if strings.HasSuffix(r.Why, ": port") {
			hit(packetRefused)
		} else {
			hit(packetLost)
		}
	case sim.EvDeliver:
		switch d := r.Detail.(sim.Delivery); {
		case d.Bound < 0:
			hit(wordUnknown)
		case time.Duration(d.Bound) > 100*time.Millisecond:
			hit(wordSlow)
		default:
			hit(wordProven)
		}
	}
	return nil
}

// A chatter is a machine that sends words to random members at random times, and sometimes answers.
type chatter struct {
	self protocol.Rank
	n    int
	r    *rand.Rand
	next protocol.Time
	word word
}

// A word is what chatters say.
type word struct{ Number uint64 }

func (w *word) Copy() protocol.Message { c := *w; return &c }
func (w *word) Name() string           { return "chat.Word" }
func (w *word) String() string         { return fmt.Sprint(w.Number) }

// Step says something now and then: for a while to everybody, for a while to nobody.
func (c *chatter) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.(type) {
	case protocol.Start:
		c.next = now
	case *protocol.Receive:
		if c.r.IntN(4) == 0 {
			c.say(out)
		}
	}
	if now >= c.next {
		pause := 20 * time.Millisecond << c.r.IntN(7)
		c.next = now.Add(time.Duration(c.r.Int64N(int64(pause))))
		for range c.r.IntN(c.n) {
			c.say(out)
		}
	}
	out.Wake = c.next
}

// say sends a word to another member.
func (c *chatter) say(out *protocol.Effects) {
	to := protocol.Rank(c.r.IntN(c.n - 1))
	if to >= c.self {
		to++
	}
	c.word.Number++
	out.Send = append(out.Send, protocol.Envelope{To: to, Message: &c.word})
}
