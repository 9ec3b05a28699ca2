package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// A groupState is what a member knows and wants of one group besides its vote and its lease.
type groupState struct {
	group protocol.Group
	// candidate says that a program of this member would lead the group; index is its place among the wanted.
	candidate bool
	index     int
	// length is that of the leases that the program wants; zero: the council's.
	length time.Duration
	// since is when the member last began to lead the group.
	since protocol.Time
	// backoff is before when no new attempt is begun, and tries counts the attempts that have failed since the group was last led.
	backoff protocol.Time
	tries   int
	// due is when the group has to be considered again, and queued says that it waits for others to have had their turn.
	due    protocol.Time
	queued bool
	// view is what was last published, and published whether anything was.
	view      protocol.View
	published bool
	// value is the highest that the member has received or announced itself; nil if there is none. missing are the members that
	// have not acknowledged it, if it is the member's own, and sending those in whose queue the group is.
	value            *protocol.Value
	missing, sending protocol.Set
	// announces is the value with which a leadership of this member begins; empty: none.
	announces string
	// known says that the group has had a candidate here since the member started, or was last undrained.
	known bool
	// joined says that the first candidacy since then has begun, and that no leader has acknowledged it; until joinedUntil once a
	// leader may have heard it.
	joined      bool
	joinedUntil protocol.Time
	// telling says that the group's holder has still to be told of a change of candidate.
	telling bool
}

func (m *Machine) group(g protocol.Group) *groupState {
	s := m.groups[g]
	if s == nil {
		s = &groupState{group: g, due: protocol.Never}
		m.groups[g] = s
	}
	return s
}

func (m *Machine) schedule(s *groupState, at protocol.Time) {
	if s.due == at {
		return
	}
	s.due = at
	if at != protocol.Never {
		m.agenda.Add(at, s.group, s)
	}
}

// publish says what the member now believes of the group, if that is news.
func (m *Machine) publish(now protocol.Time, s *groupState, cause protocol.Cause) {
	v := m.look(now, s)
	v.Cause = cause
	old := &s.view
	if !s.published && v.Leader == protocol.NoIdent && cause.Code == protocol.Elected {
		return // somebody tries; there is nothing to say yet
	}
	if s.published && old.Leader == v.Leader && old.Term == v.Term && old.Tenure == v.Tenure && old.Horizon == v.Horizon &&
		old.Until == v.Until && old.Stop == v.Stop && old.Value == v.Value {
		return
	}
	changed := !s.published || old.Leader != v.Leader || old.Tenure != v.Tenure
	s.view, s.published = v, true
	m.out.Views = append(m.out.Views, v)
	if v.Leader != protocol.NoIdent {
		s.tries = 0
	}
	if changed {
		m.answerTransfers(s)
	}
}

// look returns the view of the group as the member's own lease or vote has it.
func (m *Machine) look(now protocol.Time, s *groupState) protocol.View {
	v := protocol.View{Group: s.group, Domain: protocol.Quorum, Leader: protocol.NoIdent, Until: protocol.Never}
	if l, ok := m.holder.Lease(s.group); ok {
		v.Leader, v.Term, v.Tenure, v.Length = m.me(), l.Token, l.Tenure, m.nominal(l.Length)
		v.Horizon, v.Until, v.Support, v.Quorum, v.Epoch, v.Stop = l.Horizon, l.Cap, l.Backers.Intersect(m.voters), l.Quorum, l.Epoch, l.Stopping
	} else if at := m.grantor.Status(now, s.group); at.Leads() && at.Holder != m.me() {
		v.Leader, v.Term, v.Length = at.Holder, at.Token, m.nominal(at.Length)
	}
	if s.value != nil && s.value.Token == v.Term {
		v.Value = s.value
	}
	return v
}

func (m *Machine) onCampaign(now protocol.Time, ev protocol.Campaign) {
	if m.closing.on {
		return
	}
	s := m.group(ev.Group)
	if !m.wish(s, ev) {
		return
	}
	s.announces = ev.Value
	if !s.candidate {
		s.candidate, s.index = true, len(m.wanted)
		m.wanted = append(m.wanted, s)
		m.joins(s)
		m.tell(s)
	}
	m.publish(now, s, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
	m.consider(now, s)
}

// withdraw ends the member's candidacy.
func (m *Machine) withdraw(s *groupState) {
	if !s.candidate {
		return
	}
	s.candidate, s.announces, s.joined = false, "", false
	m.unwish(s.length)
	last := m.wanted[len(m.wanted)-1]
	m.wanted[s.index], last.index = last, s.index
	m.wanted = m.wanted[:len(m.wanted)-1]
	m.schedule(s, protocol.Never)
	m.tell(s)
}

func (m *Machine) onTrusts(now protocol.Time, w protocol.Trusts) {
	if w.Leader == m.trusted && w.Barred == m.barred {
		return
	}
	if w.Leader != m.trusted {
		m.failed = 0
	}
	m.trusted, m.barred = w.Leader, w.Barred
	m.considerAll(now)
}

// consider begins an attempt to lead the group if the member may, and otherwise sees to it that the question is put again
// when the answer may be another one.
func (m *Machine) consider(now protocol.Time, s *groupState) {
	if !m.stands(s) || !m.speaks() || m.holder.Tries(s.group) {
		return
	}
	at := m.grantor.Status(now, s.group)
	if at.Holder != protocol.NoIdent && at.Holder != m.me() {
		m.schedule(s, protocol.Never) // the end of that grant brings us back
		return
	}
	when := max(s.backoff, m.start.settled, m.turn(now, s, &at))
	if now < when {
		m.schedule(s, when)
		return
	}
	if m.holder.Attempts() >= maxAttempts {
		if !s.queued {
			s.queued, m.queue = true, append(m.queue, s)
		}
		return
	}
	m.try(now, s)
}

// maxAttempts is how many groups are tried for at once. An attempt has the time of one lease to succeed; of ten thousand
// that begin together, as when their leader dies, none would.
const maxAttempts = 512

// considerAll looks at all groups that this member wants to lead.
func (m *Machine) considerAll(now protocol.Time) {
	for _, s := range m.wanted {
		m.consider(now, s)
	}
}

// dequeue considers groups that waited for others to have had their turn.
func (m *Machine) dequeue(now protocol.Time) {
	n := 0
	for n < len(m.queue) && m.holder.Attempts() < maxAttempts {
		s := m.queue[n]
		n++
		s.queued = false
		m.consider(now, s)
	}
	clear(m.queue[:n])
	m.queue = m.queue[n:] // without a copy: each of ten thousand steps may take one of ten thousand groups
}

// first returns who goes first in a free group: the trusted member, or the next that may lead if it may not. If that one
// has let its leases run out and has asked for nothing since, it may be dead and the elector slow to notice; then it is
// the next after it. So it is where the elector has no opinion yet, as after a restart, so that all who know of the lapse
// agree.
func (m *Machine) first() protocol.Rank {
	r := m.trusted
	switch {
	case r == protocol.Nobody:
		r = m.lapsed
	case !m.able(r):
		r = m.after(r)
	}
	if r != protocol.Nobody && r == m.lapsed {
		r = m.after(r)
	}
	return r
}

// able says whether a member may lead, and would now.
func (m *Machine) able(r protocol.Rank) bool {
	return m.leaders.Has(r) && !m.barred.Has(r) && (r != m.cfg.Me || !m.ill)
}

// after returns the next member in rank order that is able to lead, and Nobody if there is none.
func (m *Machine) after(r protocol.Rank) protocol.Rank {
	for range m.lcfg.Members {
		r = (r + 1) % protocol.Rank(m.lcfg.Members)
		if m.able(r) {
			return r
		}
	}
	return protocol.Nobody
}

// behind returns how many members that are able to lead have their turn before this one, if first has the first; all that
// rank better if first is Nobody.
func (m *Machine) behind(first protocol.Rank) int {
	r, n := protocol.Rank(0), 0
	if first != protocol.Nobody {
		r = first
	}
	for ; r != m.cfg.Me; r = (r + 1) % protocol.Rank(m.lcfg.Members) {
		if m.able(r) {
			n++
		}
	}
	return n
}

// turnsBefore returns how many members have their turn before this one in a free group.
func (m *Machine) turnsBefore(now protocol.Time, g protocol.Group) int {
	if m.balanced() {
		return m.place(now, g)
	}
	return m.behind(m.first())
}

// turn returns when it is this member's turn in a free group: at once if it goes first, or if there is nobody to say so;
// otherwise the later the more members come before it, counted from the first one. A named heir goes first.
func (m *Machine) turn(now protocol.Time, s *groupState, at *lease.GroupStatus) protocol.Time {
	when := at.Free
	if !m.goesFirst(now, s.group) {
		for range 1 + m.turnsBefore(now, s.group) {
			when = when.Add(m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip))
		}
		when = when.Add(m.slowDown(s)) // once, however many come before
	}
	if m.leaving() {
		for range 2 + m.lcfg.Members { // all that stay go first
			when = when.Add(m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip))
		}
	}
	if at.Heir != protocol.Nobody && at.Heir != m.cfg.Me {
		when = max(when, at.Reserved)
	}
	return when
}

// tooOften is how many attempts in a row may fail for want of answers before a trusted member calls itself unfit.
const tooOften = 3

func (m *Machine) onFailed(now protocol.Time, s *groupState, o *lease.Outcome) {
	if m.trusted == m.cfg.Me && !o.Busy && o.Start >= m.counted {
		m.counted = now // groups that fail together count as one
		m.failed++
		if m.failed >= tooOften {
			m.failed, m.unfit = 0, true
		}
	}
	s.tries = min(s.tries+1, lease.FreeTries)
	s.backoff = now.Add(m.pause(s))
	if o.Busy && o.Led {
		// A leader stands in the way: whoever is to go first comes back as soon as its leases have run out.
		if m.goesFirst(now, s.group) {
			s.backoff = max(o.Retry, now.Add(m.cfg.RoundTrip/8+m.slowDown(s)))
		} else {
			s.backoff = max(s.backoff, o.Retry)
		}
	}
	m.consider(now, s)
}

// longestPause is how many round trips a candidate stays away at most after a failure.
const longestPause = 4

// slowDown returns by how much attempts for a group are slowed down. After the first tries it follows the measured round trip: candidates whose
// pauses are shorter than their attempts meet for ever.
func (m *Machine) slowDown(s *groupState) time.Duration {
	if s.tries < lease.FreeTries {
		return 0
	}
	return m.holder.SlowDown(s.length)
}

// pause draws how long a candidate stays away after a failure: between one and four round trips (PROTOCOLS §3.4-3), and up to the slow-down longer.
func (m *Machine) pause(s *groupState) time.Duration {
	d, slow := m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip), m.slowDown(s)
	return d + slow/2 + time.Duration(m.rng.Int64N(int64((longestPause-1)*d+slow/2)+1))
}
