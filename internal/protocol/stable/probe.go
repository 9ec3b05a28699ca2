package stable

import (
	"github.com/regentproject/regent/internal/protocol"
)

// A probe finds out who is alive, before a new round.
type probe struct {
	// end is when no more answers are waited for; Never while no probe runs.
	end   protocol.Time
	seq   uint64
	pongs protocol.Set
	// cause is why there is to be a new round.
	cause protocol.Cause
}

// onSilence is R2: the leader of the round has been silent for too long.
func (m *Machine) onSilence(now protocol.Time) {
	leader := m.leaderOf(m.round)
	m.leave(now, protocol.Cause{Code: protocol.Suspected, Peer: leader, Bound: now.Sub(m.since)})
}

// leave is for a round whose leader is silent or was restarted. The next one may belong to somebody who is dead as well,
// and waiting for that one would cost as much again: so those who skip the dead ask first who is alive (E-S3).
func (m *Machine) leave(now protocol.Time, cause protocol.Cause) {
	if !m.config.Ping {
		m.giveUp(now, m.round+1, cause)
		return
	}
	if m.probe.end != protocol.Never {
		m.probe.cause = cause // that is being asked
		return
	}
	if m.config.Variant == Alerting && !m.config.gated() {
		m.tellAll(protocol.Keep(m.out, ALERT{Round: m.round + 1}))
		m.alerts.add(m.round+1, now)
	}
	if m.leader.Rank != protocol.Nobody {
		m.demote(now, cause)
	}
	m.deadline, m.probe.cause = protocol.Never, cause
	m.ask(now)
}

// ask sends PINGs. A member answers itself at once.
func (m *Machine) ask(now protocol.Time) {
	m.probe.seq++
	m.probe.end = now.Add(m.timing.Probe + 1)
	m.probe.pongs = protocol.NewSet(m.config.Self)
	m.tellAll(protocol.Keep(m.out, PING{Round: m.round, Seq: m.probe.seq}))
}

// onPING says that this member is alive. With a gate, the member that asks may be kept in its round for long, by answers that stay away, and
// nobody else speaks of that round: so others come along to it now, and not when they have found a leader in an earlier one.
func (m *Machine) onPING(now protocol.Time, from protocol.Ident, ping *PING) {
	m.tell(from.Rank, protocol.Keep(m.out, PONG(*ping)))
	if m.config.gated() && ping.Round > m.round {
		m.onSTART(now, from, ping.Round)
	}
}

// onPONG notes who is alive.
func (m *Machine) onPONG(from protocol.Ident, pong *PONG) {
	if m.probe.end != protocol.Never && pong.Round == m.round && pong.Seq == m.probe.seq {
		m.probe.pongs.Add(from.Rank)
	}
}

// onProbeEnd is R3: on to the next round that belongs to somebody who answered. Where there is none, or no quorum
// answered although that is asked for, the member stays where it is and asks again. But a leader that was restarted is
// gone for certain: who waited for a quorum in order to say so might depose the same member much later, when everybody
// has come to trust it anew.
func (m *Machine) onProbeEnd(now protocol.Time) {
	if m.config.gated() && m.probe.cause.Code != protocol.Restarted && !m.config.Gate.In(m.probe.pongs) {
		m.demote(now, protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody})
		m.ask(now)
		return
	}
	for round := m.round + 1; round <= m.round+uint64(len(m.candidates)); round++ {
		if m.probe.pongs.Has(m.leaderOf(round)) {
			m.giveUp(now, round, m.probe.cause)
			return
		}
	}
	m.ask(now)
}

// onUnfit gives the round up: this member, which leads it, is of no use to the authority above.
func (m *Machine) onUnfit(now protocol.Time) {
	m.repair(now)
	if m.leads() && m.leader.Rank == m.config.Self {
		m.giveUp(now, m.round+1, protocol.Cause{Code: protocol.NoQuorum, Peer: m.config.Self})
	}
}
