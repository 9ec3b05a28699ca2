// Package rank is the plain elector that better ones are measured against: every member sends OKs to all others, and the
// best-ranked member received lately leads (Aguilera, Delporte-Gallet, Fauconnier, Toueg: Stable Leader Election, where it is
// the starting point).
//
//	Stable §1.1 part 1   OK to all, and which arrived lately     onTick, onOK
//	Stable §1.1 part 2   the smallest of them leads              elect
//	Stable fn 1          what "lately" means adapts              distrust, onOK
//
// It is an Ω, provided that the links between all members that stay up become timely in the end. It has the drawbacks that
// the paper names: all links carry messages for ever, and a flapping member of good rank deposes good leaders.
//
// We differ in this:
//   - The time-out of a peer grows with each mistake up to a cap (PROTOCOLS §5.5 gives the reason: a time-out without bound
//     detects nothing). So Ω needs links whose delay is below the cap less one period.
//   - A peer that comes back under a new incarnation had really crashed, so suspecting it was no mistake. A message of an
//     earlier incarnation than the newest known one is no sign of life, nor is one that was overtaken or duplicated: OKs are
//     numbered.
//   - A member that has just started waits one time-out for members that rank before it, before it reports that another
//     member, or itself, leads. Otherwise every member would begin by leading itself.
//   - A member sends nothing to itself: it always trusts itself.
//
// Unfit changes nothing here. An authority above this elector still finds a leader, because other members try after a while.
package rank

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config describes one member's machine. All members of a council have the same periods.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc protocol.Inc
	// Group is what views and facts are about.
	Group protocol.Group
	// Period is how often a member says that it is alive (η).
	Period time.Duration
	// Timeout is how long a peer may be silent at first (Δ): at least Period plus the usual delay of a message. Grow is
	// added after each mistake, until Cap is reached.
	Timeout, Grow, Cap time.Duration
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Self:    self,
		Members: members,
		Inc:     inc,
		Period:  50 * time.Millisecond,
		Timeout: 120 * time.Millisecond,
		Grow:    50 * time.Millisecond,
		Cap:     time.Second,
	}
}

// Check says what is wrong with the configuration.
func (c Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("rank: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("rank: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Period <= 0:
		return fmt.Errorf("rank: period %v: must be positive", c.Period)
	case c.Timeout <= c.Period:
		return fmt.Errorf("rank: time-out %v: must exceed the period %v", c.Timeout, c.Period)
	case c.Grow < 0:
		return fmt.Errorf("rank: growth %v of the time-out: must not be negative", c.Grow)
	case c.Cap < c.Timeout:
		return fmt.Errorf("rank: cap %v: must be at least the time-out %v", c.Cap, c.Timeout)
	}
	return nil
}

// OK says that its sender is alive. It is the only message.
type OK struct {
	// Seq numbers the OKs of one incarnation.
	Seq uint64
}

// Copy returns an OK of its own.
func (m *OK) Copy() protocol.Message { c := *m; return &c }

// Name returns rank.OK.
func (m *OK) Name() string { return "rank.OK" }

// A peer is what is known of another member.
type peer struct {
	inc     protocol.Inc
	seq     uint64        // of the newest OK of that incarnation
	heard   protocol.Time // when it came; before the first one: when this member started
	timeout time.Duration
	state   state
}

type state uint8

const (
	awaited   state = iota // not heard yet, and the first time-out is not over
	trusted                // heard lately
	suspected              // silent for longer than its time-out
)

// Machine is one member's elector.
type Machine struct {
	config Config
	peers  []peer
	seq    uint64
	// nextOK is when the next OK is due; check is no later than the first time-out of a peer.
	nextOK, check protocol.Time
	leader        protocol.Ident

	out *protocol.Effects // of the present Step
}

// New returns the machine of a member that is about to start.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c, peers: make([]peer, c.Members), leader: protocol.NoIdent}
	for r := range c.Members {
		m.peers[r].timeout = c.Timeout
	}
	return m, nil
}

// Step takes one event. Events other than Start, Tick and OK are not for this machine and change nothing.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	switch ev := ev.(type) {
	case protocol.Start:
		m.onStart(now)
	case *protocol.Receive:
		if ok, is := ev.Message.(*OK); is {
			m.onOK(now, ev.From, ok.Seq)
		}
	}
	if now >= m.check {
		m.distrust(now)
	}
	if now >= m.nextOK {
		m.onTick(now)
	}
	out.Wake = min(m.nextOK, m.check)
}
