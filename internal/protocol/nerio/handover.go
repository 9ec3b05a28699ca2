package nerio

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// stopBy returns until when a program that is asked to stop now may take.
func (m *Machine) stopBy(now protocol.Time) protocol.Time {
	if m.cfg.StopWithin == 0 {
		return protocol.Never
	}
	return now.Add(m.cfg.StopWithin)
}

func (m *Machine) onResign(now protocol.Time, ev protocol.Resign) {
	s := m.group(ev.Group)
	why := ev.Why
	if why == protocol.Unexplained {
		why = protocol.Resigned
	}
	m.giveUp(now, s, protocol.Nobody, protocol.Cause{Code: why, Peer: m.cfg.Me})
}

// giveUp ends a candidacy, an attempt, or in good time a leadership.
func (m *Machine) giveUp(now protocol.Time, s *groupState, heir protocol.Rank, cause protocol.Cause) {
	m.withdraw(s)
	m.holder.Resign(now, s.group, heir, m.stopBy(now), cause)
	m.publish(now, s, cause)
}

// onLapse lets a lease run out under a program that may still act.
func (m *Machine) onLapse(now protocol.Time, ev protocol.Lapse) {
	if l, leads := m.holder.Lease(ev.Group); !leads || l.Tenure != ev.Tenure {
		return
	}
	m.withdraw(m.group(ev.Group))
	m.holder.Lapse(now, ev.Group, ev.Tenure, protocol.Cause{Code: ev.Why, Peer: m.cfg.Me})
}

// refusal says why this member cannot hand the group over to another.
func (m *Machine) refusal(ev *protocol.Transfer) protocol.Refusal {
	l, leads := m.holder.Lease(ev.Group)
	switch {
	case !leads:
		return protocol.NotLeading
	case ev.To == m.cfg.Me:
		return protocol.ToItself
	case !m.leaders.Has(ev.To):
		return protocol.MayNotLead
	case !l.Candidates.Has(ev.To):
		return protocol.NoCandidate
	}
	return protocol.NotRefused
}

// onTransfer hands the group over. It is refused, and nothing changes, if this member does not lead it or the successor may
// not or has not said that it would.
func (m *Machine) onTransfer(now protocol.Time, ev protocol.Transfer) {
	s := m.group(ev.Group)
	if why := m.refusal(&ev); why != protocol.NotRefused {
		m.refuse(ev.ID, s, why)
		return
	}
	if ev.Ask {
		m.answer(ev.ID, s, true)
		return
	}
	if ev.ID != 0 {
		m.asks.transfers = append(m.asks.transfers, transfer{id: ev.ID, to: ev.To, group: ev.Group, until: protocol.Never})
	}
	m.giveUp(now, s, ev.To, protocol.Cause{Code: protocol.Transferred, Peer: ev.To})
}

// onStopped ends a leadership whose program has stopped. Where no successor was named it is the candidate that would go first.
func (m *Machine) onStopped(now protocol.Time, g protocol.Group) {
	l, leads := m.holder.Lease(g)
	if !leads {
		return
	}
	s := m.group(g)
	if !l.Stopping {
		m.withdraw(s)
	}
	m.holder.Stopped(now, g, m.heir(g, l.Candidates.Without(m.cfg.Me)))
}

// onLost follows a leadership that is over: the heir gets a message, and a program that would lead again waits its turn.
func (m *Machine) onLost(now protocol.Time, s *groupState, o *lease.Outcome) {
	if o.Heir != protocol.Nobody {
		m.send(o.Heir, &Handover{Group: s.group, Term: o.Term, Asked: o.Cause.Code == protocol.Transferred || o.Cause.Code == protocol.Balanced})
	}
	for i := range m.asks.transfers {
		if t := &m.asks.transfers[i]; t.group == s.group && t.until == protocol.Never {
			t.until = now.Add(m.lcfg.Rho.WaitAtLeast(4 * m.cfg.RoundTrip))
			m.asks.wake(t.until)
		}
	}
	if o.Cause.Code == protocol.LeaseExpired {
		m.lapse(now, m.cfg.Me)
	}
	s.backoff = max(s.backoff, now.Add(m.pause(s)))
	m.consider(now, s)
}

// onHandover begins an ordinary attempt whose requests carry the predecessor's release. Nothing is inherited: the term, the
// start and the votes are the successor's own.
func (m *Machine) onHandover(now protocol.Time, from protocol.Ident, h *Handover) {
	s := m.groups[h.Group]
	if s == nil || !m.stands(s) || m.holder.Tries(h.Group) || h.Term > lease.MaxTerm {
		return
	}
	m.grantor.See(now, h.Group, h.Term)
	m.holder.Carry(lease.Release{Group: h.Group, Of: from, Term: h.Term, To: m.cfg.Me, Asked: h.Asked})
	s.backoff = now
	m.try(now, s)
}
