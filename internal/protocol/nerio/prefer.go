package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// stands says whether this member would lead the group now: a program of its own wants to, and it is fit and may lead.
func (m *Machine) stands(s *groupState) bool {
	return s.candidate && !m.ill && m.leaders.Has(m.cfg.Me)
}

// healthWhy says what is true of a member, for facts. What is drained is shown as that even if it is ill as well: it counts as a
// newcomer once it is fit.
func healthWhy(ev protocol.Health) string {
	switch {
	case ev.Drained:
		return "drained"
	case !ev.OK:
		return "ill"
	}
	return "well"
}

// onHealth bars the member from leading, or no longer. What it leads it gives up as it would on Resign, but for that the
// wish to lead stays.
func (m *Machine) onHealth(now protocol.Time, ev protocol.Health) {
	drained := ev.Drained && !m.balance.drained
	m.balance.drained = m.balance.drained || ev.Drained
	changed := m.ill == ev.Fit()
	m.ill = !ev.Fit()
	if changed || drained {
		m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvHealth, Dom: protocol.Quorum, Why: healthWhy(ev)})
	}
	if !changed {
		return
	}
	if m.balance.drained && !m.ill {
		m.balance.drained = false
		m.arrives()
	}
	for _, s := range m.wanted {
		m.tell(s)
		if m.ill {
			m.standDown(now, s, protocol.Nobody, protocol.Cause{Code: ev.Cause(), Peer: m.cfg.Me})
			continue
		}
		m.consider(now, s)
	}
}

// standDown gives up what is led or tried, in good time, and stays a candidate.
func (m *Machine) standDown(now protocol.Time, s *groupState, heir protocol.Rank, cause protocol.Cause) {
	m.schedule(s, protocol.Never)
	m.holder.Resign(now, s.group, heir, m.stopBy(now), cause)
	m.publish(now, s, cause)
}

// preference is what a leader knows of better candidates.
type preference struct {
	links []fastLink // nil: leaders stay
	due   protocol.Time
}

// A fastLink is how a member has answered lately: within the round trip since a certain instant, and last at another one.
type fastLink struct{ since, last protocol.Time }

// maxPreferred is how many groups are handed over at a time: each has a program to stop, and their heirs have attempts to
// make.
const maxPreferred = 64

// answered takes note of how long an answer took.
func (p *preference) answered(now protocol.Time, from protocol.Rank, trip time.Duration, m *Machine) {
	if p.links == nil {
		return
	}
	l := &p.links[from]
	switch {
	case trip > m.lcfg.Rho.WaitAtMost(m.cfg.RoundTrip):
		*l = fastLink{}
	case l.last == 0 || now.Sub(l.last) > m.holder.Shortest():
		*l = fastLink{now, now}
	default:
		l.last = now
	}
}

// fast returns the members that have answered within the round trip for as long as a preferred candidate has to, and lately: within the shortest
// lease in use. Leases are renewed some times each, and longer ones less often.
func (m *Machine) fast(now protocol.Time) protocol.Set {
	var s protocol.Set
	for r := range m.prefer.links {
		l := &m.prefer.links[r]
		if l.last != 0 && now.Sub(l.last) <= m.holder.Shortest() && now.Sub(l.since) >= m.cfg.Prefer {
			s.Add(protocol.Rank(r))
		}
	}
	return s
}

// duePreference hands groups over to better-ranked candidates. It looks once per renewal.
func (m *Machine) duePreference(now protocol.Time) {
	if m.cfg.Prefer == 0 || m.balanced() || now < m.prefer.due || !m.holder.Active() || m.closing.on {
		return
	}
	m.prefer.due = now.Add(m.cfg.Renew)
	fast := m.fast(now).Minus(m.barred)
	if better := fast.Min(); better >= m.cfg.Me {
		return
	}
	handed := 0
	for _, s := range m.wanted {
		l, leads := m.holder.Lease(s.group)
		if !leads || l.Stopping || now.Sub(s.since) < m.cfg.Prefer {
			continue
		}
		heir := l.Candidates.Intersect(fast)
		if to := heir.Min(); to < m.cfg.Me {
			m.standDown(now, s, to, protocol.Cause{Code: protocol.Transferred, Peer: to})
			handed++
			if handed == maxPreferred {
				return
			}
		}
	}
}

func (m *Machine) appendPreference(s *lease.State) {
	for i := range m.prefer.links {
		s.Instant(m.prefer.links[i].since)
		s.Instant(m.prefer.links[i].last)
	}
	if m.prefer.links != nil {
		s.Future(m.prefer.due)
	}
}
