package council

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file says how far members have got. It is for operators: no rule depends on it.

// A Standing is how far a member has got with a change, as far as this one knows.
type Standing struct {
	// Accepted says that it has accepted the next configuration. Only the proposer of that knows it of others.
	Accepted bool
	// Adopted says that it has the configuration in force on its disk, Waited that nothing stands any more that it promised before, and Settled
	// that it has settled.
	Adopted, Waited, Settled bool
	// Assigned is how many groups it knows the leaders of.
	Assigned uint32
}

// Standing returns how far the member in a seat has got. Members stop reporting that when they have settled and no change is running.
func (m *Machine) Standing(now protocol.Time, seat protocol.Rank) (s Standing) {
	if m.phase != seated || m.rec.Conf == nil {
		return s
	}
	a := &m.attempt
	s.Accepted = a.on && a.value != nil && a.accepts.Has(seat)
	if seat == m.seat {
		s.Accepted = s.Accepted || m.rec.Accepted.Conf != nil
		s.Adopted, s.Waited, s.Settled = true, m.rec.Settled || m.waited(now), m.rec.Settled
		_, s.Assigned = m.host.Leads()
		return s
	}
	if int(seat) >= len(m.peers) {
		return s
	}
	if p := &m.peers[seat]; p.carried != 0 { // in the present configuration
		s.Adopted, s.Waited, s.Settled, s.Assigned = true, p.carry.Waited || p.carry.Settled, p.carry.Settled, p.carry.Assigned
	}
	return s
}

// Silence returns for how long a member was not heard since the present configuration settled.
func (m *Machine) Silence(now protocol.Time, seat protocol.Rank) time.Duration {
	return now.Sub(max(m.peer(seat).heard, m.settledAt))
}

// Running says that a change is running, or has not settled.
func (m *Machine) Running() bool {
	return m.phase == seated && m.rec.Conf != nil && (m.rec.Conf.Goal != nil || m.want != nil || !m.rec.Settled)
}

// unsettled returns the voters that have not waited yet, as far as this member knows.
func (m *Machine) unsettled(now protocol.Time) protocol.Set {
	voters := m.rec.Conf.Voters()
	for r := range voters.All() {
		if s := m.Standing(now, r); s.Waited {
			voters.Remove(r)
		}
	}
	return voters
}

// unanswered returns the voters that have not answered the attempt of this member; none if it makes none.
func (m *Machine) unanswered() protocol.Set {
	a := &m.attempt
	switch {
	case !a.on:
		return protocol.Set{}
	case a.value == nil:
		return m.rec.Conf.Voters().Minus(a.promises)
	}
	return m.rec.Conf.Voters().Minus(a.accepts)
}
