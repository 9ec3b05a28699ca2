package hall

import (
	"github.com/regentproject/regent/internal/protocol"
)

// candidate asks for support, unless somebody better is alive: then it waits until that one no longer counts.
func (m *Machine) candidate(now protocol.Time) {
	m.purge(now)
	if best, until := m.better(); best != protocol.Nobody {
		m.drop()
		m.cand = until
		if m.leading(now) {
			m.endRenewals(now, protocol.Cause{Code: protocol.Merged, Peer: best})
			m.cand = until
		}
		return
	}
	m.begin(now)
}

// begin sends a request.
func (m *Machine) begin(now protocol.Time) {
	m.request++
	m.pend = round{on: true, request: m.request, sent: now, target: m.alive, nodes: m.treeNodes(now)}
	m.cand, m.collect = protocol.Never, now.Add(m.cfg.window(m.cfg.Window()))
	elect := Election{Request: m.request, Alive: m.alive, Nodes: m.pend.nodes, Rotation: m.turn}
	if m.leading(now) {
		elect.Support = m.lead.support
	}
	m.fact(protocol.Fact{Ev: protocol.EvAttempt, Seq: m.request, Start: now, Members: m.alive})
	if elect.Nodes.Empty() || m.leading(now) && !m.roomy(now) {
		m.broadcast(protocol.Keep(m.out, elect))
		return
	}
	m.sendDown(now, &elect)
}

// roomy says whether this member leads, and its lease lasts for a whole round from now.
func (m *Machine) roomy(now protocol.Time) bool {
	return m.leading(now) && m.lead.until.Sub(now) >= m.cfg.window(m.cfg.Window())+m.cfg.lateness()
}

// drop forgets the pending request. Replies to it no longer count.
func (m *Machine) drop() {
	m.pend.on, m.insist, m.collect = false, protocol.Never, protocol.Never
}

// count takes this member's own answer to its own request.
func (m *Machine) count(now protocol.Time, request uint64, yes bool) {
	if !m.pend.on || m.pend.request != request {
		return
	}
	if yes {
		m.pend.yes.Add(m.cfg.Self)
	} else {
		m.pend.no.Add(m.cfg.Self)
	}
	m.tryEarly(now)
}

// onReply takes answers to a request of this member, or passes them on up the tree.
func (m *Machine) onReply(now protocol.Time, r *protocol.Receive, msg *Reply) {
	if msg.Root != m.cfg.Self {
		m.onCollate(now, r, msg)
		return
	}
	limit, who := m.cfg.Delta, protocol.NewSet(r.From.Rank)
	if m.cfg.Arity > 0 {
		limit = m.cfg.spread(m.cfg.Window())
		who = m.everyone
	}
	bound := r.Delay
	if bound > m.cfg.Delta {
		bound = protocol.Unknown // its sender is too far away, whatever it brings
	} else {
		bound += min(max(0, msg.Age), limit)
		m.meet(r.From.Rank)
	}
	yes, no := msg.Yes.Intersect(who), msg.No.Intersect(who)
	counts := m.pend.on && msg.Request == m.pend.request
	for i := range yes {
		for word := yes[i] | no[i]; word != 0; word &= word - 1 {
			x := lowest(i, word)
			if !m.note(now, x, bound, limit) {
				yes.Remove(x)
				no.Remove(x)
			}
		}
	}
	if bound > limit {
		return
	}
	m.rotate(now, msg.Rotation)
	if !counts {
		return
	}
	m.pend.yes, m.pend.no = m.pend.yes.Union(yes), m.pend.no.Union(no)
	m.tryEarly(now)
}

// tryEarly renews a lease as soon as everybody asked has answered.
func (m *Machine) tryEarly(now protocol.Time) {
	if m.leading(now) && m.pend.on && m.pend.yes == m.pend.target {
		m.evaluate(now)
	}
}

// evaluate counts the replies to the pending request.
func (m *Machine) evaluate(now protocol.Time) {
	m.purge(now)
	p := &m.pend
	m.drop()
	m.miss(now, p.silent())
	lease := m.cfg.lease()
	backed := p.yes == m.alive && m.best(&p.yes) == m.cfg.Self && p.yes.Len() >= m.cfg.Supporters
	switch {
	case backed && p.target.Has(m.cfg.Self) && now < p.sent.Add(lease):
		m.gain(now, p.sent.Add(lease))
	case m.leading(now):
		if p.no.Empty() && m.roomy(now) {
			m.begin(now)
			return
		}
		m.endRenewals(now, m.obstacle(now))
	case backed && p.no.Empty() && !p.target.Has(m.cfg.Self):
		// A fresh candidate's first request cannot win, because it did not yet hear itself. If nobody objects, it asks again
		// at once.
		m.begin(now)
	default:
		m.fact(protocol.Fact{Ev: protocol.EvFail, Seq: p.request, Why: m.failure()})
		if !p.yes.Empty() {
			m.giveBack(p.request)
		}
		m.cand = p.sent.Add(m.cfg.Period - m.cfg.Sched)
	}
}

// giveBack releases every lock of this member's requests up to the given one.
func (m *Machine) giveBack(request uint64) {
	m.broadcast(protocol.Keep(m.out, Release{Request: request, Rotation: m.turn}))
}

// failure says in a word why the request that was counted last did not win.
func (m *Machine) failure() string {
	p := &m.pend
	switch {
	case !p.no.Empty():
		return "refused"
	case p.yes != m.alive:
		return "silence"
	case !p.target.Has(m.cfg.Self):
		return "fresh"
	case p.yes.Len() < m.cfg.Supporters:
		return "minority"
	}
	return "late"
}

// obstacle says why the request that was counted last did not renew the lease.
func (m *Machine) obstacle(now protocol.Time) protocol.Cause {
	p := &m.pend
	if !p.no.Empty() {
		return protocol.Cause{Code: protocol.Merged, Peer: m.best(&p.no)}
	}
	for i := range m.alive {
		if word := m.alive[i] &^ p.yes[i]; word != 0 {
			return m.blame(now, lowest(i, word))
		}
	}
	if p.yes.Len() < m.cfg.Supporters {
		return protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody}
	}
	return protocol.Cause{Code: protocol.LeaseExpired, Peer: m.cfg.Self}
}
