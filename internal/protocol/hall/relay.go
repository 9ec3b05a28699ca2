package hall

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// sendDown sends a request of a leader to the top of its tree, and directly to all that are not in it. The members that do not
// support the leader yet are none of its nodes: a first request has to reach them within Δ.
func (m *Machine) sendDown(now protocol.Time, e *Election) {
	e.Missing = e.Missing.Union(m.alive.Minus(m.lead.support))
	nodes := m.nodes(m.cfg.Self, e)
	top := m.children(&nodes, 0)
	direct, relay := protocol.Keep(m.out, *e), protocol.Keep(m.out, Relay{Root: m.me(), Election: *e})
	for r := range protocol.Rank(m.cfg.Members) {
		switch {
		case top.Has(r):
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: relay})
		case !nodes.Has(r):
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: direct})
		}
	}
	m.insist = m.collect.Add(-m.cfg.Rho.WaitAtLeast(directWindow*m.cfg.Delta + m.cfg.Sched))
}

// onInsist asks the members that have not answered the pending request directly, unless a better member has been received from
// meanwhile: then the leader has nothing to ask for.
func (m *Machine) onInsist(now protocol.Time) {
	m.insist = protocol.Never
	silent := m.pend.target.Minus(m.pend.yes.Union(m.pend.no))
	if best, _ := m.better(); best != protocol.Nobody || !m.leading(now) {
		return
	}
	e := protocol.Keep(m.out, Election{Request: m.pend.request, Alive: m.pend.target, Missing: silent, Support: m.lead.support, Rotation: m.turn})
	for r := range silent.All() {
		m.peers[r].direct = now.Add(m.cfg.Expires + m.cfg.Period)
		m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: e})
	}
}

// onRelay sends a request on down its tree, and answers it. Invariant: what this member takes for fast has taken at most Δ from the
// root to here, so a lock that it takes begins as soon after the request as after a direct one. What has taken longer by its proof, it
// neither counts nor sends on: the root will ask directly.
func (m *Machine) onRelay(now protocol.Time, r *protocol.Receive, msg *Relay) {
	root := msg.Root
	if m.cfg.Arity == 0 || int(root.Rank) >= m.cfg.Members || root.Rank == m.cfg.Self || root.Inc < m.peers[root.Rank].inc {
		return
	}
	bound := r.Delay
	if bound <= m.cfg.Delta {
		// An age beyond Δ is as good as any other such, and cannot overflow.
		bound += min(max(0, msg.Age), m.cfg.Delta+1)
	}
	if bound > m.cfg.Delta {
		return
	}
	if root.Inc > m.peers[root.Rank].inc {
		m.renew(root)
	}
	m.sendOn(root, msg, bound)
	m.onElection(now, &protocol.Receive{From: root, Delay: bound}, &msg.Election)
}

// sendOn sends a request that it has not seen yet to its children.
func (m *Machine) sendOn(root protocol.Ident, msg *Relay, age time.Duration) {
	e := &msg.Election
	nodes := m.nodes(root.Rank, e)
	if t := m.tree(root.Rank); !nodes.Has(m.cfg.Self) || t.root == root && e.Request <= t.request {
		return
	}
	below := m.children(&nodes, place(&nodes, m.cfg.Self)+1)
	if below.Empty() {
		return
	}
	on := protocol.Keep(m.out, Relay{Root: root, Age: age, Election: *e})
	for r := range below.All() {
		m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: on})
	}
}
