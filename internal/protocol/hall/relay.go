package hall

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// treeNodes returns the nodes of the tree of the next request: the members that are alive and, of a candidate that does not lead, those
// that were in its last partition, too. Those that it has not met, or that did not answer in time lately, are asked directly.
func (m *Machine) treeNodes(now protocol.Time) protocol.Set {
	var nodes protocol.Set
	if m.cfg.Arity == 0 {
		return nodes
	}
	for r := range m.alive.Union(m.hoped).Without(m.cfg.Self).All() {
		if p := &m.peers[r]; p.met && now >= p.direct {
			nodes.Add(r)
		}
	}
	return nodes
}

// meet notes that a fast message came from a member itself.
func (m *Machine) meet(r protocol.Rank) {
	if m.cfg.Arity > 0 {
		m.peers[r].met = true
	}
}

// hope notes which other members of the partition that this one was in are likely to be there still.
func (m *Machine) hope(s protocol.Set) {
	if m.cfg.Arity > 0 {
		m.hoped = s
	}
}

// miss notes which members did not answer a request at all. They are asked directly until they answer.
func (m *Machine) miss(now protocol.Time, who protocol.Set) {
	if m.cfg.Arity == 0 {
		return
	}
	m.bypass(now, who)
	for r := range who.All() {
		m.peers[r].met = false
	}
}

// bypass notes which members did not answer along the tree. They answer directly until this one has forgotten every member that it
// cannot hear, and a period longer: by then none of these is a node of the tree any more.
func (m *Machine) bypass(now protocol.Time, who protocol.Set) {
	for r := range who.All() {
		m.peers[r].direct = now.Add(m.cfg.Expires + m.cfg.Period)
	}
}

// sendDown sends a request to the top of its tree, and directly to all members that are not in it.
func (m *Machine) sendDown(now protocol.Time, e *Election) {
	top := m.children(&e.Nodes, 0)
	direct, relay := protocol.Keep(m.out, *e), protocol.Keep(m.out, Relay{Root: m.me(), Election: *e})
	for r := range protocol.Rank(m.cfg.Members) {
		switch {
		case top.Has(r):
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: relay})
		case !e.Nodes.Has(r):
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: direct})
		}
	}
	m.insist = now.Add(m.cfg.Rho.WaitAtMost(time.Duration(m.cfg.Window()-directWindow)*m.cfg.Delta - m.cfg.Sched))
}

// onInsist asks the members that have not answered the pending request directly, unless a better member has been received from
// meanwhile: then this one has nothing to ask for.
func (m *Machine) onInsist(now protocol.Time) {
	m.insist = protocol.Never
	if best, _ := m.better(); best != protocol.Nobody {
		return
	}
	silent := m.pend.silent()
	m.bypass(now, silent)
	elect := Election{Request: m.pend.request, Alive: m.pend.target, Nodes: m.pend.nodes.Minus(silent), Rotation: m.turn}
	if m.leading(now) {
		elect.Support = m.lead.support
	}
	e := protocol.Keep(m.out, elect)
	for r := range silent.All() {
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
	m.onElection(now, &protocol.Receive{From: root, Delay: bound}, &msg.Election, r.From.Rank == root.Rank)
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
