package hall

import (
	"github.com/regentproject/regent/internal/protocol"
)

// A lock is this voter's one promise: until an instant of its clock it supports nobody else.
type lock struct {
	// to is a member in one incarnation; nobody after a start and after a release.
	to      protocol.Ident
	request uint64
	// until is the last instant at which the lock stands. Invariant: it never falls while to is unchanged and has not
	// released it.
	until protocol.Time
}

// supports says whether this member supports a request.
func (m *Machine) supports(now protocol.Time, from protocol.Ident, request uint64) bool {
	return m.key(from.Rank) <= m.key(m.cfg.Self) &&
		from.Rank == m.best(&m.alive) &&
		(now > m.grant.until || m.grant.to == from) &&
		request > m.peers[from.Rank].voided &&
		!m.closing
}

// onElection answers a fast Election; a slow one is as good as none. Direct says that it came from the candidate itself.
func (m *Machine) onElection(now protocol.Time, r *protocol.Receive, e *Election, direct bool) {
	if r.Delay <= m.cfg.Delta && m.deafTo(now, r.From.Rank, e) {
		// It does not count as alive, but gets a no, so that it hears this member as soon as it can.
		m.answer(now, r.From, e, false)
		return
	}
	if !m.note(now, r.From.Rank, r.Delay, m.cfg.Delta) {
		return
	}
	if direct {
		m.meet(r.From.Rank)
	}
	m.rotate(now, e.Rotation)
	yes := m.supports(now, r.From, e.Request)
	if yes {
		m.lockTo(now, r.From, e.Request)
	}
	if r.From.Rank == m.cfg.Self {
		m.count(now, e.Request, yes)
		return
	}
	m.learn(now, r.From, e)
	m.answer(now, r.From, e, yes)
}

// lockTo gives or extends the lock.
func (m *Machine) lockTo(now protocol.Time, to protocol.Ident, request uint64) {
	until := now.Add(m.cfg.Lock)
	if m.grant.to == to {
		// An older request that comes late neither shortens the lock nor makes its release miss (E-H7).
		until, request = max(until, m.grant.until), max(request, m.grant.request)
	} else if m.grant.to != protocol.NoIdent {
		m.fact(protocol.Fact{Ev: protocol.EvUngrant, Peer: m.grant.to, Seq: m.grant.request, At: now, Why: "lapsed"})
	}
	m.grant = lock{to: to, request: request, until: until}
	m.fact(protocol.Fact{Ev: protocol.EvGrant, Peer: to, Seq: request, Until: until, At: now})
}

// onRelease takes a lock back, however late the message is. A request that it releases and that comes later still gets no
// lock any more.
func (m *Machine) onRelease(now protocol.Time, in *protocol.Receive, r *Release) {
	from := in.From
	p := &m.peers[from.Rank]
	p.voided = max(p.voided, r.Request)
	if in.Delay <= m.cfg.Delta {
		m.rotate(now, r.Rotation)
	}
	if m.grant.to != from || m.grant.request > r.Request {
		return
	}
	m.fact(protocol.Fact{Ev: protocol.EvUngrant, Peer: from, Seq: r.Request, At: now, Why: "released"})
	m.grant = lock{to: protocol.NoIdent, until: now.Add(-1)}
	if m.followed == from {
		m.unfollow(protocol.Cause{Code: protocol.Resigned, Peer: from.Rank})
	}
}

// learn takes from an Election which member leads, and which support it. A leader that this member will not support again leads it for as
// long as the lock stands.
func (m *Machine) learn(now protocol.Time, from protocol.Ident, e *Election) {
	switch {
	case e.Support.Has(m.cfg.Self) && m.grant.to == from && now <= m.grant.until:
		if m.followed == from && m.partition == e.Support {
			return
		}
		m.followed, m.partition = from, e.Support
		m.hope(e.Support.Without(from.Rank))
		m.publish(from, e.Support, protocol.Cause{Code: protocol.Elected, Peer: from.Rank})
	case m.followed == from:
		// It leads without this member, or no longer leads.
		m.unfollow(protocol.Cause{Code: protocol.LeaseExpired, Peer: from.Rank})
	}
}

// follow notices that the leader that this member sees can no longer be one: the lock on it has ended.
func (m *Machine) follow(now protocol.Time) {
	if m.followed != protocol.NoIdent && (m.grant.to != m.followed || now > m.grant.until) {
		m.unfollow(m.blame(now, m.followed.Rank))
	}
}

func (m *Machine) unfollow(cause protocol.Cause) {
	m.followed, m.partition = protocol.NoIdent, protocol.Set{}
	m.publish(protocol.NoIdent, protocol.Set{}, cause)
}
