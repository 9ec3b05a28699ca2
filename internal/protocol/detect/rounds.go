package detect

import "github.com/regentproject/regent/internal/protocol"

// startRound comes to a later round, in which everybody is trusted at first.
func (m *Machine) startRound(now protocol.Time, round uint64, cause protocol.Cause) {
	m.round, m.last, m.inc = round, 0, 0
	leader := m.leaderOf(round)
	m.since, m.deadline, m.nextOK = now, now.Add(m.timing.first+1), protocol.Never
	m.publish(protocol.Everyone(m.config.Members), cause)
	if leader != m.config.Self {
		m.tellAll(protocol.Keep(m.out, START{Round: round}))
		return
	}
	m.deadline = protocol.Never
	for r := range m.acks {
		m.acks[r] = now
	}
	m.sayOK(now)
}

// sayOK sends that this member leads, and which members it trusts.
func (m *Machine) sayOK(now protocol.Time) {
	m.seq++
	m.nextOK = now.Add(m.timing.period)
	m.tellAll(protocol.Keep(m.out, OK{Round: m.round, Seq: m.seq, Trust: m.trust}))
}

// suspect drops those whose ACK is overdue. They do not come back in this round: they start another when they hear of it.
func (m *Machine) suspect(now protocol.Time) {
	trust := m.trust
	cause := protocol.Cause{Code: protocol.Suspected, Peer: protocol.Nobody}
	for r := range m.acks {
		q := protocol.Rank(r)
		silent := now.Sub(m.acks[r])
		if q == m.config.Self || !trust.Has(q) || silent <= m.timing.window {
			continue
		}
		trust.Remove(q)
		m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvSuspect, Group: m.config.Group, Peer: protocol.Ident{Rank: q, Inc: m.heard[r]}})
		if cause.Peer == protocol.Nobody {
			cause.Peer, cause.Bound = q, silent
		}
	}
	m.publish(trust, cause)
}

// onOK hears the leader of a round.
func (m *Machine) onOK(now protocol.Time, from protocol.Ident, ok *OK) {
	switch {
	case ok.Round > MaxRound || m.leaderOf(ok.Round) != from.Rank:
	case ok.Round < m.round:
		m.bringUp(from.Rank)
	case ok.Round > m.round:
		m.startRound(now, ok.Round, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
		m.hear(now, from, ok)
	case m.inc != 0 && m.inc != from.Inc:
		m.startRound(now, m.round+1, protocol.Cause{Code: protocol.Restarted, Peer: from.Rank})
	case ok.Seq <= m.last:
	case !ok.Trust.Has(m.config.Self):
		m.startRound(now, m.round+1, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
	default:
		m.hear(now, from, ok)
		m.publish(ok.Trust, protocol.Cause{Code: protocol.Elected, Peer: from.Rank})
	}
}

// hear takes an OK of this round and answers it.
func (m *Machine) hear(now protocol.Time, from protocol.Ident, ok *OK) {
	m.last, m.inc = ok.Seq, from.Inc
	m.since, m.deadline = now, now.Add(m.timing.silence+1)
	m.tell(from.Rank, protocol.Keep(m.out, ACK{Round: m.round}))
}

// onSTART comes along to a later round, and brings up who is in an earlier one.
func (m *Machine) onSTART(now protocol.Time, from protocol.Ident, round uint64) {
	switch {
	case round > MaxRound:
	case round > m.round:
		m.startRound(now, round, protocol.Cause{Code: protocol.Doubted, Peer: from.Rank})
	case round < m.round:
		m.bringUp(from.Rank)
	}
}

func (m *Machine) bringUp(to protocol.Rank) {
	m.tell(to, protocol.Keep(m.out, START{Round: m.round}))
}

// onSilence leaves a round whose leader is silent.
func (m *Machine) onSilence(now protocol.Time) {
	m.startRound(now, m.round+1, protocol.Cause{Code: protocol.Suspected, Peer: m.leaderOf(m.round), Bound: now.Sub(m.since)})
}

// publish makes known who leads and who is trusted, if that is news.
func (m *Machine) publish(trust protocol.Set, cause protocol.Cause) {
	leader := protocol.Ident{Rank: m.leaderOf(m.round)}
	leader.Inc = m.heard[leader.Rank]
	if leader == m.leader && m.round == m.term && trust == m.trust {
		return
	}
	m.leader, m.term, m.trust = leader, m.round, trust
	m.out.Views = append(m.out.Views, protocol.View{Group: m.config.Group, Leader: leader, Term: m.round, Until: protocol.Never,
		Support: trust, Cause: cause})
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvWeak, Group: m.config.Group, Peer: leader, Term: m.round, Members: trust})
}

func (m *Machine) leaderOf(round uint64) protocol.Rank {
	return protocol.Rank(round % uint64(m.config.Members))
}

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
