package stable

import (
	"github.com/regentproject/regent/internal/protocol"
)

// startRound comes to a later round. All ALERTs stand before the first START: who dies in between must not have begun
// a chain of STARTs that nobody was warned of.
func (m *Machine) startRound(now protocol.Time, round uint64, cause protocol.Cause) {
	m.tries++
	leader := m.leaderOf(round)
	if m.config.Variant == Alerting {
		m.tellAll(protocol.Keep(m.out, ALERT{Round: round}))
	}
	start := START{Round: round}
	switch {
	case leader == m.config.Self:
	case m.config.Variant.expires():
		m.tellAll(protocol.Keep(m.out, start))
	default:
		m.tell(leader, protocol.Keep(m.out, start))
	}
	m.round, m.oks = round, oks{}
	m.probe.end, m.nextOK = protocol.Never, protocol.Never
	m.since, m.deadline = now, now.Add(m.timing.First+1)
	m.demote(now, cause)
	if leader == m.config.Self {
		m.deadline = protocol.Never
		m.sayOK(now)
	}
}

// giveUp leaves the round for a later one.
func (m *Machine) giveUp(now protocol.Time, round uint64, cause protocol.Cause) {
	if m.config.Variant == Reliable {
		m.tell(m.leaderOf(m.round), protocol.Keep(m.out, STOP{Round: m.round}))
	}
	m.startRound(now, round, cause)
}

// sayOK says that this member leads its round. A tick that comes late is made up for once.
func (m *Machine) sayOK(now protocol.Time) {
	m.seq++
	m.tellAll(protocol.Keep(m.out, OK{Round: m.round, Seq: m.seq}))
	m.nextOK = now.Add(m.timing.Period)
	m.hear(now, protocol.Ident{Rank: m.config.Self, Inc: m.config.Inc}, m.seq)
}

// onOK is R1, R4 and R5.
func (m *Machine) onOK(now protocol.Time, from protocol.Ident, ok *OK) {
	switch {
	case ok.Round > MaxRound || m.leaderOf(ok.Round) != from.Rank:
	case ok.Round < m.round:
		m.bringUp(from.Rank)
	case ok.Round > m.round:
		m.startRound(now, ok.Round, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
		m.hear(now, from, ok.Seq)
	case m.oks.inc != 0 && m.oks.inc != from.Inc:
		m.leave(now, protocol.Cause{Code: protocol.Restarted, Peer: from.Rank})
	default:
		m.hear(now, from, ok.Seq)
	}
}

// hear takes an OK of this round. One that was overtaken is no news of the leader, but may be the second one.
func (m *Machine) hear(now protocol.Time, from protocol.Ident, seq uint64) {
	o := &m.oks
	switch {
	case o.inc == 0:
		*o = oks{inc: from.Inc, lo: seq, hi: seq}
	case seq <= o.hi:
		o.lo = min(o.lo, seq)
		m.elect(now, from)
		return
	default:
		o.hi = seq
	}
	if m.config.gated() {
		// Nothing has been said yet: the leader was slow, that is all.
		m.probe.end = protocol.Never
	}
	m.since = now
	if from.Rank != m.config.Self && m.probe.end == protocol.Never {
		m.deadline = now.Add(m.timing.Silence + 1)
	}
	m.elect(now, from)
}

// elect makes the leader of the round the leader, if it has said OK long enough and no ALERT speaks against it.
func (m *Machine) elect(now protocol.Time, from protocol.Ident) {
	if m.leader == from || m.oks.hi-m.oks.lo < m.timing.Spread && m.config.Variant != Basic {
		return
	}
	m.alerts.prune(now.Add(-m.timing.Hold), now, m.round)
	if m.alerts.any() {
		return
	}
	m.publish(now, from, protocol.Cause{Code: protocol.Elected, Peer: from.Rank})
}

// onSTART is R4 and R5.
func (m *Machine) onSTART(now protocol.Time, from protocol.Ident, round uint64) {
	switch {
	case round > MaxRound:
	case round > m.round:
		m.startRound(now, round, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
	case round < m.round:
		m.bringUp(from.Rank)
	}
}

// bringUp is R5: a member in an earlier round gets a message about this one. Without it Fig. 3 is no Ω.
func (m *Machine) bringUp(to protocol.Rank) {
	if m.config.Variant.expires() {
		m.tell(to, protocol.Keep(m.out, START{Round: m.round}))
	}
}

// onALERT is R6: the leader is put in doubt, and the round stays.
func (m *Machine) onALERT(now protocol.Time, from protocol.Ident, round uint64) {
	if m.config.Variant != Alerting || round > MaxRound || round <= m.round {
		return
	}
	m.alerts.add(round, now)
	m.demote(now, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
}

// onSTOP gives a round up (Fig. 2).
func (m *Machine) onSTOP(now protocol.Time, from protocol.Ident, round uint64) {
	if m.config.Variant == Reliable && round >= m.round && round < MaxRound {
		m.startRound(now, round+1, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
	}
}

// demote leaves the member without a leader; in Fig. 1 with the leader of its round, whichever member that is.
func (m *Machine) demote(now protocol.Time, cause protocol.Cause) {
	leader := protocol.NoIdent
	if m.config.Variant == Basic {
		leader.Rank = m.leaderOf(m.round)
		leader.Inc = m.heard[leader.Rank]
	}
	m.publish(now, leader, cause)
}

// publish makes it known that the leader, or the reason for having none, has changed.
func (m *Machine) publish(now protocol.Time, leader protocol.Ident, cause protocol.Cause) {
	if m.leader.Rank != protocol.Nobody && now.Sub(m.elected) >= 2*m.timing.Hold {
		m.tries = 0
	}
	none := leader.Rank == protocol.Nobody
	if none && m.tries > 2*len(m.candidates)+2 {
		cause = protocol.Cause{Code: protocol.NoAccess, Peer: protocol.Nobody}
	}
	term := uint64(0)
	if !none {
		term = m.round
	}
	grave := cause.Code == protocol.NoAccess || cause.Code == protocol.NoQuorum
	if leader == m.leader && term == m.term && m.why != protocol.Unexplained && (!none || !grave || m.why == cause.Code) {
		return
	}
	m.leader, m.term, m.why, m.elected = leader, term, cause.Code, now
	m.out.Views = append(m.out.Views, protocol.View{Group: m.config.Group, Leader: leader, Term: term, Until: protocol.Never, Cause: cause})
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvWeak, Group: m.config.Group, Peer: leader, Term: term})
}
