package stack

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Health tells every other member whether the sender is well enough to lead. It is repeated while the sender is not; a
// member that says nothing counts as well, which is what it is or its elector finds out.
type Health struct {
	// Seq orders the messages of one incarnation.
	Seq uint64
	OK  bool
}

// Name says stack.Health.
func (*Health) Name() string { return "stack.Health" }

// Copy returns an independent copy.
func (m *Health) Copy() protocol.Message { c := *m; return &c }

// health is what a member knows of its own and of others.
type health struct {
	ill bool
	seq uint64
	// due is when the others are told again that this member is ill; Never while it is well.
	due protocol.Time
	// moved is when the elector was last told to move on from this member.
	moved protocol.Time
	peers []condition
	// barred are all that are known to be ill, this member included. next is when the first of the others is believed to be
	// well again unless it says otherwise.
	barred protocol.Set
	next   protocol.Time
}

// A condition is the last word of another member.
type condition struct {
	inc protocol.Inc
	seq uint64
	end protocol.Time // until when it is believed; Never: it is well
}

// patience is how many repetitions may be lost before a member that said that it is ill counts as well.
const patience = 4

// onHealth is told by the driver how this member is.
func (m *Machine) onHealth(now protocol.Time, ev protocol.Health) {
	if h := &m.health; h.ill == ev.OK {
		h.ill, h.due, h.moved = !ev.OK, now, -protocol.Never
		if h.ill {
			h.barred.Add(m.config.Self)
		} else {
			h.barred.Remove(m.config.Self)
		}
	}
	m.authorityStep(now, ev)
	m.back(now)
}

// onWord hears how another member is.
func (m *Machine) onWord(now protocol.Time, from protocol.Ident, w *Health) {
	h := &m.health
	if int(from.Rank) >= len(h.peers) || from.Rank == m.config.Self {
		return
	}
	p := &h.peers[from.Rank]
	if from.Inc < p.inc || from.Inc == p.inc && w.Seq <= p.seq {
		return
	}
	*p = condition{inc: from.Inc, seq: w.Seq, end: protocol.Never}
	if w.OK {
		h.barred.Remove(from.Rank)
		return
	}
	p.end = now.Add(patience * m.config.Repeat)
	h.barred.Add(from.Rank)
	h.next = min(h.next, p.end)
}

// onNewcomer forgets what an earlier incarnation of a member has said.
func (m *Machine) onNewcomer(from protocol.Ident) {
	if int(from.Rank) >= len(m.health.peers) {
		return
	}
	if p := &m.health.peers[from.Rank]; from.Inc > p.inc && p.end != protocol.Never {
		*p = condition{inc: from.Inc, end: protocol.Never}
		m.health.barred.Remove(from.Rank)
	}
}

// forget believes those to be well again of whom nothing was heard for long.
func (m *Machine) forget(now protocol.Time) {
	h := &m.health
	if now < h.next {
		return
	}
	h.next = protocol.Never
	for r := range h.peers {
		p := &h.peers[r]
		if now >= p.end {
			p.end = protocol.Never
			h.barred.Remove(protocol.Rank(r))
		}
		h.next = min(h.next, p.end)
	}
}

// tellHealth tells the others, if that is due. Those who have no vote have no use for it.
func (m *Machine) tellHealth(now protocol.Time) {
	h := &m.health
	if now < h.due || m.authority.Incarnation() == 0 {
		return
	}
	h.seq++
	word := protocol.Keep(m.out, Health{Seq: h.seq, OK: !h.ill})
	for r := range protocol.Rank(m.config.Roles.Voters()) {
		if r != m.config.Self {
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: word})
		}
	}
	h.due = protocol.Never
	if h.ill {
		h.due = now.Add(m.config.Repeat)
	}
}

// unfitAt returns when the elector is to be told that this member, which it trusts, may not lead; Never if it may, or is
// not trusted. It is told again while it stays where it is, in case that others have come back to this member.
func (m *Machine) unfitAt() protocol.Time {
	if m.trusted != m.config.Self || m.leaders.Has(m.config.Self) && !m.health.ill {
		return protocol.Never
	}
	return m.health.moved.Add(patience * m.config.Repeat)
}

// useless says whether that is so now, once.
func (m *Machine) useless(now protocol.Time) bool {
	if now < m.unfitAt() {
		return false
	}
	m.health.moved = now
	return true
}

// healthWake is when the machine has something to do about anybody's health.
func (m *Machine) healthWake(now protocol.Time) protocol.Time {
	at := min(m.health.next, max(now, m.unfitAt()))
	if m.authority.Incarnation() != 0 {
		at = min(at, m.health.due)
	}
	return at
}

// DefaultRepeat is how often a member repeats that it is ill unless its configuration says otherwise.
const DefaultRepeat = 50 * time.Millisecond
