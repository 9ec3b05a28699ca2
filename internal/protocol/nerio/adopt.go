package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// This file is what a change of the council means to a member's votes and leases. Package council decides on it; docs/members.md has
// the rules. What is called here is followed by a Step at the same instant, which writes and sends.

// Adopt puts another configuration of the council in force, which is on disk, with a floor of its terms (R5, R6). Promises,
// assignments, leases and tokens stand: members keep their ranks. Attempts begin anew. c differs from the present configuration only
// in what members agree on.
func (m *Machine) Adopt(now protocol.Time, c Config, floor uint64, out *protocol.Effects) {
	m.now, m.out = now, out
	m.holder.Begin(now, out)
	m.grantor.Begin(now, out)
	c.Start = m.cfg.Start
	vacated := c.Absent.Minus(m.cfg.Absent)
	could := m.leaders.Has(m.cfg.Me)
	if m.balanced() {
		m.settleJoins()
	}
	m.cfg, m.lcfg = c, c.lease()
	m.voters, m.leaders = c.Quorums.Voters(), c.leaders()
	st := &m.start
	for len(st.peers) < m.lcfg.Members {
		st.peers, st.answers = append(st.peers, peer{accused: now}), append(st.answers, Known{})
	}
	for m.prefer.links != nil && len(m.prefer.links) < m.lcfg.Members {
		m.prefer.links = append(m.prefer.links, fastLink{})
	}
	for m.balanced() && len(m.balance.since) < m.lcfg.Members {
		m.balance.since = append(m.balance.since, 0)
	}
	for m.values.peers != nil && len(m.values.peers) < m.lcfg.Members {
		m.values.peers = append(m.values.peers, valuePeer{due: protocol.Never})
	}
	for r := range vacated.All() {
		if int(r) < len(st.peers) {
			st.peers[r] = peer{accused: now}
			st.got.Remove(r)
			st.introduced.Remove(r)
		}
	}
	r := &m.disk.record
	r.Longest, r.Lock, r.Council = max(r.Longest, c.Longest), max(r.Lock, c.Lock), c.Council
	if st.phase >= writing {
		r.Epoch, r.Digest, m.disk.dirty = c.Epoch, c.Listing, true
	}
	m.grantor.Adopt()
	m.raise(floor)
	cause := protocol.Cause{Code: protocol.Elected, Peer: m.cfg.Me}
	m.holder.Adopt(now, vacated, cause)
	if st.phase == lost {
		st.got = protocol.Set{} // their answers were about another configuration
	}
	if st.phase == speaks || st.phase == lost && st.asked {
		st.due = now
	}
	if st.recorded && m.grantor.ReadyAt() == protocol.Never && m.alone() {
		m.waitRestarted(now) // nobody is left whose answer it could wait for
	}
	if !could && m.leaders.Has(m.cfg.Me) {
		m.arrives()
	}
	for _, s := range m.wanted {
		if could != m.leaders.Has(m.cfg.Me) {
			m.tell(s)
		}
		if _, leads := m.holder.Lease(s.group); leads {
			s.published = false // its support has changed
			m.publish(now, s, cause)
		}
	}
	m.yields = now.Add(m.lcfg.Rho.WaitAtLeast(stepTakes * m.cfg.RoundTrip))
	m.considerAll(now)
}

// CaughtUp notes that a voter is in this member's configuration now.
func (m *Machine) CaughtUp(now protocol.Time) { m.holder.CaughtUp(now) }

// Settled notes that no promise of an earlier configuration stands, and that no term up to floor was accepted where this member
// does not know of it (R8).
func (m *Machine) Settled(now protocol.Time, floor uint64, out *protocol.Effects) {
	m.now, m.out = now, out
	m.disk.record.Longest = m.cfg.Longest
	m.disk.dirty = true
	m.raise(floor)
}

func (m *Machine) raise(floor uint64) {
	m.terms.See(floor)
	m.grantor.Raise(floor)
}

// Recovered says that a member without a trusted record may begin: other members have answered what package council asks of them
// (R9), and no term up to floor matters.
func (m *Machine) Recovered(floor uint64) {
	m.withheld = false
	m.terms.See(floor)
	m.start.due = m.now
}

// Withhold keeps a member that is Recovered, and has not begun, from beginning until it is Recovered once more.
func (m *Machine) Withhold() { m.withheld = m.start.phase < writing }

// Recorded says whether the member has a record of this start, on disk or on its way there.
func (m *Machine) Recorded() bool { return m.start.phase >= writing }

// Withheld says that the member has no trusted record, and does not begin before it is Recovered, except by a bootstrap.
func (m *Machine) Withheld() bool { return m.withheld }

// Distrust makes the member stop and ask, because its record is an old copy.
func (m *Machine) Distrust(now protocol.Time, out *protocol.Effects) {
	m.now, m.out = now, out
	m.holder.Begin(now, out)
	m.grantor.Begin(now, out)
	if m.start.phase > lost {
		m.distrust(now, "stale record")
	}
}

// Leave says that the member is none any more (R7): it gives up what it leads, and tries for nothing from this Step on.
func (m *Machine) Leave(now protocol.Time, out *protocol.Effects) {
	m.now, m.out = now, out
	m.holder.Begin(now, out)
	m.grantor.Begin(now, out)
	m.onClose(now)
}

// Hold keeps the member from granting anything before an instant; Never: before another call. What it waits for besides, it
// still waits for, if it comes to know of it later.
func (m *Machine) Hold(now, until protocol.Time, out *protocol.Effects) {
	m.now, m.out = now, out
	m.held = until
	m.wait(until, "held")
}

// Keep puts a part of another machine into the record. It is written with the next Step, if the member has a record.
func (m *Machine) Keep(part []byte) {
	m.disk.record.Wedge, m.disk.dirty = part, true
}

// Highest bounds every term that the member has accepted or proposed.
func (m *Machine) Highest() uint64 { return m.terms.Highest }

// Promised returns when nothing stands any more that the member has promised, its starts before this one included.
func (m *Machine) Promised() protocol.Time { return m.grantor.Promised() }

// Members returns how many ranks there are, absent ones included.
func (m *Machine) Members() int { return m.lcfg.Members }

// Trusted says whether the member started from its record.
func (m *Machine) Trusted() bool { return m.start.recorded }

// Leads returns how many groups the member leads, and how many leaders its vote knows.
func (m *Machine) Leads() (leads, assigned uint32) {
	return uint32(m.holder.Leads()), uint32(m.grantor.Assigned())
}

// Longer returns the groups that this voter knows to be led with leases that are longer than a length.
func (m *Machine) Longer(length time.Duration) []lease.LongLease { return m.grantor.Longer(length) }

// leaving says whether this member is to lose its vote, or has lost it, while another may lead.
func (m *Machine) leaving() bool {
	rest := m.leaders.Minus(m.cfg.Leaving)
	return !rest.Has(m.cfg.Me) && !rest.Empty()
}

// stepTakes is how many round trips after a member has adopted a configuration all that are heard have done so.
const stepTakes = 4

// yieldAll hands over what a leaving member leads to candidates that stay (R12), once all have taken the step: an heir that tries in the middle of it is
// refused by those that are ahead, and another candidate is elected. Nor does it wait until the configuration has settled, because the next step may come at
// once then. A group without such a candidate it leads on.
func (m *Machine) yieldAll(now protocol.Time) {
	if !m.leaving() || now < m.yields {
		return
	}
	for _, s := range m.wanted {
		m.yield(now, s)
	}
}

func (m *Machine) yield(now protocol.Time, s *groupState) {
	l, leads := m.holder.Lease(s.group)
	if !leads || l.Stopping {
		return
	}
	heirs := l.Candidates.Intersect(m.leaders).Minus(m.cfg.Leaving).Without(m.cfg.Me)
	if heir := m.heir(s.group, heirs); heir != protocol.Nobody {
		m.standDown(now, s, heir, protocol.Cause{Code: protocol.Transferred, Peer: heir})
	}
}
