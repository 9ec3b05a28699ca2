// Package detect finds out which members are alive, with the messages of n links instead of n² (Aguilera, Delporte-Gallet,
// Fauconnier, Toueg: Stable Leader Election, section 9): an eventually perfect failure detector, ◇P. In the end every member
// trusts exactly the members that are alive, if one member has good links with all others.
//
// Members work in rounds as in package stable. The leader of a round sends OK to all, and they answer ACK. The OK lists the
// members whose ACKs arrive. A member that is missing in the list starts the next round, because this leader does not receive
// from it.
//
//	Fig. 6 lines 1–9    startRound           rounds.go
//	Fig. 6 lines 10–15  the leader           sayOK, suspect
//	Fig. 6 lines 16–29  all other members    onOK, onSTART, onSilence
//
// We differ in this:
//   - The window in which an ACK must arrive is exact in the paper: 2δ, closed, without any jitter (E-S7). Ours is a period
//     and a round trip, as long as these can be on drifting clocks: 3δ with a period of δ.
//   - The paper states that lossy links are enough, where it needs expiring ones (E-S1). The machine drops late messages.
//   - OKs are numbered: one that was overtaken does not bring an old list back. A new incarnation of the leader of a round
//     ends the round, as in package stable.
//   - A member that was dropped and comes back starts a new round, as in the paper. So the leader changes when members
//     restart: for a leader that stays use package stable.
//
// From any state the machines converge, as those of package stable do.
package detect

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// MaxRound is the last round that is believed.
const MaxRound = 1 << 62

// Config describes one member's machine. All but Self and Inc must be the same at all members.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc protocol.Inc
	// Group is what views and facts are about.
	Group protocol.Group
	// Period is how often the leader says OK, in real time.
	Period time.Duration
	// Delta is how long a message takes at most on a good link, counted from when it was due to be sent. Expiry is how old a
	// message may be that is still heard, by its proven bound: Delta less the lateness of timers.
	Delta, Expiry time.Duration
	Rho           protocol.Rho
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{Self: self, Members: members, Inc: inc, Period: 25 * time.Millisecond, Delta: 25 * time.Millisecond,
		Expiry: 20 * time.Millisecond, Rho: protocol.DefaultRho}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("detect: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("detect: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Period <= 0:
		return fmt.Errorf("detect: period %v: must be positive", c.Period)
	case c.Expiry <= 0 || c.Expiry > c.Delta:
		return fmt.Errorf("detect: expiry %v: must be positive and at most delta, which is %v", c.Expiry, c.Delta)
	}
	return c.Rho.Check()
}

// The messages.
type (
	// OK says that its sender leads Round and which members it trusts to be alive. Seq numbers the OKs of one incarnation.
	OK struct {
		Round, Seq uint64
		Trust      protocol.Set
	}
	// ACK answers an OK of Round.
	ACK struct{ Round uint64 }
	// START asks its receiver to come to Round.
	START struct{ Round uint64 }
)

// Copy returns a message of its own.
func (m *OK) Copy() protocol.Message    { c := *m; return &c }
func (m *ACK) Copy() protocol.Message   { c := *m; return &c }
func (m *START) Copy() protocol.Message { c := *m; return &c }

// Name returns what the paper calls it.
func (m *OK) Name() string    { return "detect.OK" }
func (m *ACK) Name() string   { return "detect.ACK" }
func (m *START) Name() string { return "detect.START" }

// timing is the configuration on the member's own clock.
type timing struct {
	period  time.Duration // how far OKs are apart
	silence time.Duration // how long a leader may be silent
	first   time.Duration // the same, in a new round
	window  time.Duration // how long an ACK may be missing
}

func (c *Config) timing() timing {
	t := timing{period: c.Rho.WaitAtLeast(c.Period)}
	longest := c.Rho.RealAtMost(t.period)
	t.silence = c.Rho.WaitAtLeast(longest + c.Delta)
	t.first = max(t.silence, c.Rho.WaitAtLeast(2*c.Delta))
	t.window = c.Rho.WaitAtLeast(longest + 2*c.Delta)
	return t
}

// Machine is one member's detector.
type Machine struct {
	config Config
	timing timing
	heard  []protocol.Inc // the newest incarnation of each member

	round uint64
	// Who leads in which round and who is trusted, as published.
	leader protocol.Ident
	term   uint64
	trust  protocol.Set
	// last is the number of the newest OK of this round, from the incarnation inc of its leader; zero: there was none.
	last uint64
	inc  protocol.Inc
	seq  uint64
	acks []protocol.Time // at the leader: when the last ACK of each member came, or the round began
	// nextOK is when the leader says OK again, deadline when it has been silent for too long since since.
	nextOK, deadline, since protocol.Time

	out *protocol.Effects // of the present Step
}

// New returns the machine of a member that is about to start.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c, timing: c.timing(), heard: make([]protocol.Inc, c.Members), acks: make([]protocol.Time, c.Members),
		leader: protocol.NoIdent, nextOK: protocol.Never, deadline: protocol.Never}
	m.heard[c.Self] = c.Inc
	return m, nil
}

// Step takes one event. What came in is dealt with before what is due.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	switch ev := ev.(type) {
	case protocol.Start:
		m.startRound(now, 0, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
	case *protocol.Receive:
		m.repair(now)
		m.onReceive(now, ev)
	default:
		m.repair(now)
	}
	switch {
	case now >= m.nextOK:
		m.suspect(now)
		m.sayOK(now)
	case now >= m.deadline:
		m.onSilence(now)
	}
	out.Wake = min(m.nextOK, m.deadline)
}

// repair makes sense of a state that makes none, as in package stable. No run of the machine leads to one.
func (m *Machine) repair(now protocol.Time) {
	if m.round > MaxRound {
		m.round = 0
	}
	if m.leaderOf(m.round) != m.config.Self {
		m.nextOK, m.deadline = protocol.Never, min(m.deadline, now.Add(m.timing.first+1))
		return
	}
	m.nextOK, m.deadline = min(m.nextOK, now.Add(m.timing.period)), protocol.Never
	for r := range m.acks {
		m.acks[r] = min(m.acks[r], now)
	}
	trust := m.trust.Intersect(protocol.Everyone(m.config.Members)).With(m.config.Self)
	m.publish(trust, protocol.Cause{Peer: protocol.Nobody})
}

// onReceive takes a message that is not too old, of a member in the newest incarnation that is known.
func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	if int(from.Rank) >= m.config.Members || from.Rank == m.config.Self || from.Inc < m.heard[from.Rank] || ev.Delay > m.config.Expiry {
		return
	}
	m.heard[from.Rank] = from.Inc
	switch msg := ev.Message.(type) {
	case *OK:
		m.onOK(now, from, msg)
	case *ACK:
		if msg.Round == m.round {
			m.acks[from.Rank] = now
		}
	case *START:
		m.onSTART(now, from, msg.Round)
	}
}
