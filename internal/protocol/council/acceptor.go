package council

import "github.com/regentproject/regent/internal/protocol"

// This file is R1: what an acceptor of the next configuration does. Acceptors are the voters of the present one.

// accepts says whether the member is an acceptor that may answer now: it votes, and the present configuration is settled.
func (m *Machine) accepts(now protocol.Time) bool {
	voters := m.rec.Conf.Voters()
	return m.votes(now) && m.rec.Settled && voters.Has(m.seat)
}

func (m *Machine) onPrepare(now protocol.Time, from protocol.Ident, p *Prepare) {
	m.round = max(m.round, p.Ballot.Round)
	if p.Slot == 0 || m.behind(now, from.Rank, p.Slot-1) {
		return
	}
	if !m.accepts(now) || p.Ballot.below(m.rec.Ballot) {
		m.refuse(from.Rank, p.Slot, p.Ballot)
		return
	}
	m.bind(p.Ballot)
	m.send(from.Rank, &Promise{Slot: p.Slot, Ballot: p.Ballot, Accepted: m.rec.Accepted, Highest: m.host.Highest(), Serial: m.rec.Serial}, true)
}

// bind promises to accept nothing below a ballot.
func (m *Machine) bind(b Ballot) {
	if b != m.rec.Ballot {
		m.rec.Ballot = b
		m.write()
	}
}

func (m *Machine) refuse(to protocol.Rank, slot uint64, b Ballot) {
	m.send(to, &Refused{Slot: slot, Ballot: b, Promised: m.rec.Ballot}, false)
}

func (m *Machine) onAccept(now protocol.Time, from protocol.Ident, a *Accept) {
	m.round = max(m.round, a.Ballot.Round)
	if a.Slot == 0 || m.behind(now, from.Rank, a.Slot-1) {
		return
	}
	if !m.accepts(now) || a.Ballot.below(m.rec.Ballot) || m.rec.Conf.CheckStep(a.Conf) != nil || m.differs(a) {
		m.refuse(from.Rank, a.Slot, a.Ballot)
		return
	}
	if m.rec.Accepted.Conf == nil || m.rec.Accepted.Ballot != a.Ballot {
		m.rec.Ballot, m.rec.Accepted = a.Ballot, Vote{a.Ballot, a.Conf}
		m.write()
		m.state(protocol.EvVote, a.Conf, "accepted")
	}
	m.send(from.Rank, &Accepted{Slot: a.Slot, Ballot: a.Ballot, Serial: m.rec.Serial}, true)
}

// differs says whether another value was accepted in the same ballot.
func (m *Machine) differs(a *Accept) bool {
	v := &m.rec.Accepted
	return v.Conf != nil && v.Ballot == a.Ballot && v.Conf.Digest() != a.Conf.Digest()
}
