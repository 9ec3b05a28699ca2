package stable

import (
	"github.com/regentproject/regent/internal/protocol"
)

// Machine is one member's elector.
type Machine struct {
	config     Config
	timing     Timing
	candidates []protocol.Rank
	// heard is the newest incarnation heard of each member.
	heard []protocol.Inc

	round  uint64
	leader protocol.Ident // the output; NoIdent if there is none
	term   uint64         // the round in which it was elected
	why    protocol.CauseCode
	oks    oks
	seq    uint64 // of the last OK of this member
	alerts alerts
	probe  probe

	// nextOK is when the leader of the round says OK again. Invariant: Never at all other members.
	nextOK protocol.Time
	// deadline is when the leader of the round has been silent for too long, since when it has been silent. Invariant: Never
	// at the leader, and while a probe runs.
	deadline, since protocol.Time
	elected         protocol.Time // when the leader was elected
	tries           int           // rounds since a leader has lasted

	out *protocol.Effects // of the present Step
}

// oks is what is known of the OKs of a round: the lowest and the highest number, all from one incarnation.
type oks struct {
	inc    protocol.Inc // zero: there was none
	lo, hi uint64
}

// New returns the machine of a member that is about to start.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Candidates.Empty() {
		c.Candidates = protocol.Everyone(c.Members)
	}
	m := &Machine{config: c, timing: c.Timing(), leader: protocol.NoIdent, heard: make([]protocol.Inc, c.Members),
		nextOK: protocol.Never, deadline: protocol.Never, probe: probe{end: protocol.Never}}
	for r := range c.Candidates.All() {
		m.candidates = append(m.candidates, r)
	}
	m.heard[c.Self] = c.Inc
	return m, nil
}

// Step takes one event. What came in is dealt with before what is due: an OK that is late, but here, is an OK.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	switch ev := ev.(type) {
	case protocol.Start:
		m.onStart(now)
	case *protocol.Receive:
		m.repair(now)
		m.onReceive(now, ev)
	case protocol.Unfit:
		m.onUnfit(now)
	default:
		m.repair(now)
	}
	switch {
	case now >= m.nextOK:
		m.sayOK(now)
	case now >= m.deadline:
		m.onSilence(now)
	case now >= m.probe.end:
		m.onProbeEnd(now)
	}
	out.Wake = min(m.nextOK, m.deadline, m.probe.end)
}

// onStart begins with round 0, as everybody does.
func (m *Machine) onStart(now protocol.Time) {
	m.publish(now, protocol.NoIdent, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
	m.startRound(now, 0, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
}

// onReceive takes a message that is not too old, of a member in the newest incarnation that is known.
func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	if int(from.Rank) >= m.config.Members || from.Rank == m.config.Self || from.Inc < m.heard[from.Rank] {
		return
	}
	if m.config.Variant.expires() && ev.Delay > m.config.Expiry {
		return
	}
	m.heard[from.Rank] = from.Inc
	switch msg := ev.Message.(type) {
	case *OK:
		m.onOK(now, from, msg)
	case *START:
		m.onSTART(now, from, msg.Round)
	case *ALERT:
		m.onALERT(now, from, msg.Round)
	case *STOP:
		m.onSTOP(now, from, msg.Round)
	case *PING:
		m.onPING(now, from, msg)
	case *PONG:
		m.onPONG(from, msg)
	}
}

// repair makes sense of a state that makes none. No run of the machine leads to one, but a flipped bit might, and a clock that
// jumps: nothing that is waited for is further away than it can have been when the wait began.
func (m *Machine) repair(now protocol.Time) {
	if m.round > MaxRound {
		m.round = 0
	}
	mine := m.leads()
	switch {
	case mine:
		m.nextOK, m.deadline = min(m.nextOK, now.Add(m.timing.Period)), protocol.Never
		m.probe.end = protocol.Never
	case m.probe.end != protocol.Never:
		m.probe.end, m.deadline = min(m.probe.end, now.Add(m.timing.Probe+1)), protocol.Never
	default:
		m.deadline = min(m.deadline, now.Add(m.timing.First+1))
	}
	if !mine {
		m.nextOK = protocol.Never
	}
	if m.leader.Rank != protocol.Nobody && m.leader.Rank != m.leaderOf(m.round) {
		m.publish(now, protocol.NoIdent, protocol.Cause{Peer: protocol.Nobody})
	}
}

// leaderOf returns the candidate that a round belongs to.
func (m *Machine) leaderOf(round uint64) protocol.Rank {
	return m.candidates[round%uint64(len(m.candidates))]
}

// leads says whether the round belongs to this member.
func (m *Machine) leads() bool { return m.leaderOf(m.round) == m.config.Self }

// tell sends a message to one other member, tellAll to all others.
func (m *Machine) tell(to protocol.Rank, msg protocol.Message) {
	if to != m.config.Self {
		m.out.Send = append(m.out.Send, protocol.Envelope{To: to, Message: msg})
	}
}

func (m *Machine) tellAll(msg protocol.Message) {
	for r := range m.config.Members {
		m.tell(protocol.Rank(r), msg)
	}
}
