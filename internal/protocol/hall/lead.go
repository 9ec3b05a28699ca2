package hall

import (
	"github.com/regentproject/regent/internal/protocol"
)

// leadership is what a member has when it leads.
type leadership struct {
	on     bool
	tenure uint64
	// until is the end of the lease. Invariant: every member of support is locked to this one until after it.
	until   protocol.Time
	support protocol.Set
	rounds  int // renewals of this tenure
	// stop says that the program was asked to stop, and why. While it stops the lease is renewed, until stopBy.
	stop   bool
	why    protocol.Cause
	stopBy protocol.Time
	// ending says that the lease is not renewed any more.
	ending bool
	// leaving says that the member leaves the group when it no longer leads.
	leaving bool
	// turn says that the rotation goes on when the member no longer leads.
	turn bool
}

// leading says whether the lease runs.
func (m *Machine) leading(now protocol.Time) bool { return m.lead.on && now < m.lead.until }

// gain begins or renews the lease.
func (m *Machine) gain(now, until protocol.Time) {
	l := &m.lead
	p := &m.pend
	first, before := !l.on, l.support
	if first {
		*l = leadership{on: true, tenure: l.tenure + 1, stopBy: protocol.Never, leaving: l.leaving}
		m.followed, m.partition, m.hoped = protocol.NoIdent, protocol.Set{}, protocol.Set{}
	}
	l.support = p.yes
	l.until = max(l.until, until)
	l.rounds++
	m.cand = l.until.Add(-m.cfg.ahead(m.cfg.Window()))
	m.out.Horizons = append(m.out.Horizons, protocol.Horizon{ID: protocol.HorizonID(l.tenure), Until: l.until})
	m.fact(protocol.Fact{Ev: protocol.EvLease, Tenure: l.tenure, Seq: l.tenure, Gen: p.request, Start: p.sent, Until: l.until, Members: l.support, At: now})
	switch {
	case first:
		m.publishLead(protocol.Cause{Code: protocol.Elected, Peer: m.cfg.Self})
	case before != l.support:
		m.publishLead(m.changed(now, before))
	}
	if m.cfg.Rotate > 0 && l.rounds > m.cfg.Rotate && l.support.Len() > 1 && !l.stop {
		l.turn = true
		m.askToStop(now, protocol.Cause{Code: protocol.Transferred, Peer: protocol.Nobody})
	}
}

// changed says why the support set is not what it was.
func (m *Machine) changed(now protocol.Time, before protocol.Set) protocol.Cause {
	gone := before.Minus(m.lead.support)
	if x := gone.Min(); x != protocol.Nobody {
		return m.blame(now, x)
	}
	more := m.lead.support.Minus(before)
	return protocol.Cause{Code: protocol.Returned, Peer: more.Min()}
}

// publishLead publishes this member's own leadership as it is.
func (m *Machine) publishLead(cause protocol.Cause) {
	l := &m.lead
	m.out.Views = append(m.out.Views, protocol.View{Group: m.cfg.Group, Domain: protocol.Local, Leader: m.me(), Tenure: l.tenure,
		Horizon: protocol.HorizonID(l.tenure), Until: protocol.Never, Support: l.support, Stop: l.stop, Cause: cause})
}

// askToStop asks the program to stop. The lease is renewed until it has, or until it took too long.
func (m *Machine) askToStop(now protocol.Time, why protocol.Cause) {
	l := &m.lead
	if l.stop {
		return
	}
	l.stop, l.why = true, why
	if m.cfg.StopWithin > 0 {
		l.stopBy = now.Add(m.cfg.StopWithin)
	}
	m.publishLead(why)
}

// endRenewals lets the lease run out, because it cannot be renewed or the program takes too long to stop. The program is
// asked to stop; until it has, or the lease is over, nothing is released (E-H1).
func (m *Machine) endRenewals(now protocol.Time, why protocol.Cause) {
	l := &m.lead
	if l.ending {
		return
	}
	m.drop()
	l.ending = true
	m.askToStop(now, why)
	l.stopBy, m.cand = protocol.Never, protocol.Never
	m.fact(protocol.Fact{Ev: protocol.EvLease, Tenure: l.tenure, Seq: l.tenure, Gen: m.request, Until: l.until, Members: l.support, At: now, Why: "frozen"})
}

// onStopped ends the leadership of a program that was asked to stop and has. A program that stops unasked has resigned.
func (m *Machine) onStopped(now protocol.Time) {
	if m.lead.on && m.lead.stop {
		m.demote(now, m.lead.why)
	}
}

// lapse notices that the lease is over, before anything else in a Step.
func (m *Machine) lapse(now protocol.Time) {
	if m.lead.on && now >= m.lead.until {
		why := protocol.Cause{Code: protocol.LeaseExpired, Peer: m.cfg.Self}
		if m.lead.stop {
			why = m.lead.why
		}
		m.demote(now, why)
	}
}

// demote ends the leadership: first it is over for everybody here to see, then the locks are given back.
func (m *Machine) demote(now protocol.Time, why protocol.Cause) {
	l := &m.lead
	word := "stopped"
	if now >= l.until {
		word = "expired"
	}
	m.fact(protocol.Fact{Ev: protocol.EvStepdown, Tenure: l.tenure, Until: l.until, At: now, Why: word})
	support := l.support
	l.on, l.support, l.stopBy = false, protocol.Set{}, protocol.Never
	m.publish(protocol.NoIdent, protocol.Set{}, why)
	m.hope(support)
	if l.turn {
		m.advance(support)
	}
	if l.leaving {
		m.leave()
		return
	}
	if m.pend.on && !l.stop {
		// A renewal is still under way; it may yet win, or gives the locks back.
		return
	}
	m.drop()
	m.giveBack(m.request)
	if best, until := m.better(); best != protocol.Nobody {
		m.cand = until
		return
	}
	m.cand = max(now, m.pend.sent.Add(m.cfg.Period-m.cfg.Sched))
}

// advance turns the ranks so that the next member after this one that supported it comes first.
func (m *Machine) advance(support protocol.Set) {
	n := uint64(m.cfg.Members)
	next := (uint64(m.cfg.Self) + 1) % n
	for range n {
		if support.Has(protocol.Rank(next)) {
			break
		}
		next = (next + 1) % n
	}
	m.turn += (next + n - m.turn%n) % n
}

// onResign leaves the group: at once, or when the program that leads has stopped.
func (m *Machine) onResign(now protocol.Time, code protocol.CauseCode) {
	if !m.open {
		return
	}
	if code == protocol.Unexplained {
		code = protocol.Resigned
	}
	m.lead.leaving = true
	why := protocol.Cause{Code: code, Peer: m.cfg.Self}
	if m.lead.on {
		m.askToStop(now, why)
		return
	}
	m.publish(protocol.NoIdent, protocol.Set{}, why)
	m.leave()
}

// leave falls silent. Locks that others gave are given back; the one that this member gave stands.
func (m *Machine) leave() {
	if m.request > 0 {
		m.giveBack(m.request)
	}
	m.drop()
	m.open, m.lead.leaving, m.cand = false, false, protocol.Never
	m.alive, m.stale, m.hoped = protocol.Set{}, protocol.Never, protocol.Set{}
	m.followed, m.partition = protocol.NoIdent, protocol.Set{}
	m.trees = m.trees[:0]
}

// onUnfit stands back for twice κ, because an authority above cannot use this member: it is silent, so that the others
// choose somebody else.
func (m *Machine) onUnfit(now protocol.Time) {
	if !m.open {
		return
	}
	m.onResign(now, protocol.NoQuorum)
	m.reopen = now.Add(m.cfg.Rho.WaitAtLeast(2 * m.cfg.Kappa()))
}
