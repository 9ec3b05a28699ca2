package counter

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// watch looks whether too few members answer, says so in the view from time to time, and returns when to look again. A
// machine with two sources is blocked if one is: to depose a dead leader both of its counters must grow.
func (m *Machine) watch(now protocol.Time) protocol.Time {
	since := protocol.Never
	for _, s := range m.sources {
		since = min(since, s.Blocked())
	}
	if m.blocked != protocol.Never && since != m.blocked {
		m.unblock()
	}
	if since == protocol.Never {
		return protocol.Never
	}
	due := m.nextWord()
	if due == 0 {
		return protocol.Never
	}
	if now < since.Add(due) {
		return since.Add(due)
	}
	m.blocked, m.shown = since, now.Sub(since)
	leader := m.leader
	if m.config.Limit > 0 && m.shown >= m.config.Limit {
		leader = protocol.NoIdent
	}
	m.publish(leader, protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody, Bound: m.shown})
	return since.Add(m.nextWord())
}

// nextWord returns how long the machine must have been blocked when its view says so next; zero: it says no more.
func (m *Machine) nextWord() time.Duration {
	next := m.config.Report
	for next > 0 && next <= m.shown {
		next *= 2
	}
	if limit := m.config.Limit; limit > 0 && m.shown < limit && (next == 0 || limit < next) {
		next = limit
	}
	return next
}

// unblock takes back what the view said, and names the leader by what the counters are now.
func (m *Machine) unblock() {
	m.blocked, m.shown = protocol.Never, 0
	if !m.ready {
		m.publish(protocol.NoIdent, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
		return
	}
	leader := m.Ident(m.least())
	m.publish(leader, protocol.Cause{Code: protocol.Returned, Peer: leader.Rank})
}
