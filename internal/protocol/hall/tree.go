package hall

import (
	"math/bits"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// The nodes of an Election, in the order of ranks, are the nodes 1, 2, 3 and so on of a heap whose root is the sender. Replies
// are collated on their way up, so that no node receives more than a few. A member collates for every candidate that it hears,
// for each one by itself. If a node cannot reach the root, the replies below it are late once: the root asks those members
// directly, and leaves them out of its tree until it has forgotten the node.
//
// Requests travel down the same tree, so that the root sends a few messages as well. Each hop adds its bound. A member counts a
// relayed Election only if the sum is at most Δ, so a relayed request is as fast as a direct one, and a lock that it takes is as
// good. The root asks members that have not answered in time directly, within the round: a sum beyond Δ, a relay that is dead,
// and a link between two nodes that is broken cost no lease. C2 allows for the time that this takes. A leader whose lease may end
// before the round does asks all members directly: that is the renewal that follows its election.

// Depth returns how many levels there are below the root of a tree of so many members. It is at least two: a reply that
// takes the direct way after its parent kept silent needs that much time.
func Depth(members, arity int) int {
	depth, nodes, level := 0, 1, 1
	for nodes < members {
		level *= arity
		nodes += level
		depth++
	}
	return max(depth, 2)
}

// collation is this member's place in the tree of one candidate's last request, and what it has collected there.
type collation struct {
	root    protocol.Ident
	request uint64
	parent  protocol.Rank
	// early are the children whose replies to the request next came before that request itself, and were passed on.
	early protocol.Set
	next  uint64
	// open says that the collated reply has not left yet; it does when wait is empty or at due.
	open    bool
	due     protocol.Time
	wait    protocol.Set
	yes, no protocol.Set
	// oldest is the earliest instant, on this member's clock, at which one of those in yes or no can have received the
	// Election.
	oldest protocol.Time
	// ackDue is when the reply goes to the root directly, unless the parent has taken it over before.
	ackDue protocol.Time
}

// lowest returns the rank that the lowest bit of a word of a set stands for.
func lowest(word int, bitsSet uint64) protocol.Rank {
	return protocol.Rank(64*word + bits.TrailingZeros64(bitsSet))
}

// place returns how many members of s rank before r.
func place(s *protocol.Set, r protocol.Rank) int {
	n := 0
	for i := range int(r / 64) {
		n += bits.OnesCount64(s[i])
	}
	return n + bits.OnesCount64(s[r/64]&(1<<(r%64)-1))
}

// nth returns the member of s that n others rank before, or Nobody.
func nth(s *protocol.Set, n int) protocol.Rank {
	for i, word := range s {
		if c := bits.OnesCount64(word); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return lowest(i, word)
	}
	return protocol.Nobody
}

// answer replies to an Election: directly, or along the tree.
func (m *Machine) answer(now protocol.Time, root protocol.Ident, e *Election, yes bool) {
	set := collation{root: root, request: e.Request, oldest: now, due: protocol.Never, ackDue: protocol.Never}
	if yes {
		set.yes.Add(m.cfg.Self)
	} else {
		set.no.Add(m.cfg.Self)
	}
	if m.cfg.Arity == 0 || !e.Nodes.Has(m.cfg.Self) {
		m.reply(root.Rank, &set, 0)
		return
	}
	t := m.tree(root.Rank)
	if t.root == root && e.Request <= t.request {
		// The same again, or an older one that was overtaken: its tree is gone.
		m.reply(root.Rank, &set, 0)
		return
	}
	m.flush(now, t)
	m.plant(now, &set, e)
	if t.next == e.Request {
		set.wait = set.wait.Minus(t.early)
	}
	*t = set
	t.open = true
	if t.wait.Empty() {
		m.flush(now, t)
	}
}

// tree returns the collation for a candidate, a new one if there is none.
func (m *Machine) tree(root protocol.Rank) *collation {
	for i := range m.trees {
		if t := &m.trees[i]; t.root.Rank == root {
			return t
		}
	}
	m.trees = append(m.trees, collation{root: protocol.Ident{Rank: root}, due: protocol.Never, ackDue: protocol.Never})
	return &m.trees[len(m.trees)-1]
}

// plant works out this member's place in the tree of an Election.
func (m *Machine) plant(now protocol.Time, t *collation, e *Election) {
	nodes := m.nodes(t.root.Rank, e)
	k, node := m.cfg.Arity, place(&nodes, m.cfg.Self)+1
	t.parent = t.root.Rank
	if up := (node - 1) / k; up > 0 {
		t.parent = nth(&nodes, up-1)
	}
	t.wait = m.children(&nodes, node)
	height := 0
	for first := k*node + 1; first <= nodes.Len(); first = k*first + 1 {
		height++
	}
	t.due = now.Add(m.cfg.Rho.WaitAtMost(time.Duration(height) * m.cfg.Delta))
}

// nodes returns the members below the root of the tree of an Election, in which they are the nodes 1, 2, 3 and so on.
func (m *Machine) nodes(root protocol.Rank, e *Election) protocol.Set {
	return e.Nodes.Intersect(m.everyone).Without(root)
}

// children returns the members directly below a node. The root is node 0.
func (m *Machine) children(nodes *protocol.Set, node int) protocol.Set {
	var s protocol.Set
	k := m.cfg.Arity
	for child := k*node + 1; child <= k*node+k; child++ {
		if r := nth(nodes, child-1); r != protocol.Nobody {
			s.Add(r)
		}
	}
	return s
}

// flush sends what was collated to the parent, if it has not left yet.
func (m *Machine) flush(now protocol.Time, t *collation) {
	if !t.open {
		return
	}
	t.open, t.due = false, protocol.Never
	m.reply(t.parent, t, m.age(now, t))
	if t.parent != t.root.Rank {
		t.ackDue = now.Add(m.cfg.Rho.WaitAtLeast(2 * m.cfg.Delta))
	}
}

// age bounds how long ago the first of those collated received the Election.
func (m *Machine) age(now protocol.Time, t *collation) time.Duration {
	return m.cfg.Rho.RealAtMost(max(0, now.Sub(t.oldest)))
}

// reply sends what a collation holds.
func (m *Machine) reply(to protocol.Rank, t *collation, age time.Duration) {
	r := protocol.Keep(m.out, Reply{Request: t.request, Root: t.root.Rank, Yes: t.yes, No: t.no, Age: age, Rotation: m.turn})
	m.out.Send = append(m.out.Send, protocol.Envelope{To: to, Message: r})
}

// onCollate takes over a reply on its way to its root. What comes too late to be collated is passed on at once.
func (m *Machine) onCollate(now protocol.Time, r *protocol.Receive, msg *Reply) {
	if m.cfg.Arity == 0 || int(msg.Root) >= m.cfg.Members || r.Delay > m.cfg.Delta {
		return
	}
	ack := protocol.Keep(m.out, Ack{Root: msg.Root, Request: msg.Request})
	m.out.Send = append(m.out.Send, protocol.Envelope{To: r.From.Rank, Message: ack})
	// An age beyond every limit is as good as any other such, and cannot overflow.
	age := r.Delay + min(max(0, msg.Age), time.Duration(m.cfg.Window())*m.cfg.Delta)
	t := m.tree(msg.Root)
	if !t.open || t.request != msg.Request {
		late := collation{root: protocol.Ident{Rank: msg.Root}, request: msg.Request, yes: msg.Yes, no: msg.No}
		m.reply(msg.Root, &late, age)
		if t.next != msg.Request {
			t.next, t.early = msg.Request, protocol.Set{}
		}
		t.early.Add(r.From.Rank)
		return
	}
	t.yes, t.no = t.yes.Union(msg.Yes), t.no.Union(msg.No)
	t.oldest = min(t.oldest, now.Add(-age))
	t.wait.Remove(r.From.Rank)
	if t.wait.Empty() {
		m.flush(now, t)
	}
}

// onAck notes that the parent has taken the reply over.
func (m *Machine) onAck(from protocol.Rank, a *Ack) {
	for i := range m.trees {
		if t := &m.trees[i]; from == t.parent && a.Root == t.root.Rank && a.Request == t.request {
			t.ackDue = protocol.Never
		}
	}
}

// onTreeTimers sends what has waited long enough, and goes past a parent that does not answer.
func (m *Machine) onTreeTimers(now protocol.Time) {
	for i := range m.trees {
		t := &m.trees[i]
		if now >= t.due {
			m.flush(now, t)
		}
		if now >= t.ackDue {
			t.ackDue = protocol.Never
			m.reply(t.root.Rank, t, m.age(now, t))
		}
	}
}
