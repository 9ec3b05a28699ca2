package stack

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Health tells every other member whether the sender is fit to lead. It is repeated while the sender is not; a member that
// says nothing counts as fit, which is what it is or its elector finds out.
type Health struct {
	// Seq orders the messages of one incarnation.
	Seq uint64
	OK  bool
	// Drained says that an operator keeps the sender, which is not OK to lead, from it.
	Drained bool
}

// Name says stack.Health.
func (*Health) Name() string { return "stack.Health" }

// Copy returns an independent copy.
func (m *Health) Copy() protocol.Message { c := *m; return &c }

// health is what a member knows of its own and of others.
type health struct {
	// now is the driver's last word. A member that is not fit to lead is called ill here, also if it is drained.
	now protocol.Health
	seq uint64
	// due is when this member reports again to the others that it is ill; Never while it is well. quick is how many times more that
	// is soon.
	due   protocol.Time
	quick int
	// moved is when the elector was last asked to move on from this member.
	moved protocol.Time
	peers []condition
	// barred are all that are known to be ill, this member included. next is when the first of the others is believed to be
	// well again unless it says otherwise.
	barred protocol.Set
	next   protocol.Time
	// drained are those of them that an operator keeps from leading, and those that were when they fell silent: a host that is
	// being repaired is drained still.
	drained protocol.Set
}

// A condition is the last word of another member.
type condition struct {
	inc protocol.Inc
	seq uint64
	end protocol.Time // until when it is believed; Never: it is well
	// said is when it came, and heard when anything last came from that member.
	said, heard protocol.Time
}

const (
	// patience is how many repetitions may be lost before a member that said that it is ill counts as well.
	patience = 4
	// calm is how many times less often a member repeats that it is drained than that it is ill, after patience repetitions at
	// the pace of an ill one: it may be drained for days.
	calm = 20
)

// pace returns how often a member repeats its word in the long run.
func (m *Machine) pace(drained bool) time.Duration {
	if drained {
		return calm * m.config.Repeat
	}
	return m.config.Repeat
}

// onHealth takes the health of this member from the driver.
func (m *Machine) onHealth(now protocol.Time, ev protocol.Health) {
	if h := &m.health; h.now != ev {
		if h.now.Fit() != ev.Fit() {
			h.moved = -protocol.Never
		}
		h.now, h.due, h.quick = ev, now, patience
		setMember(&h.barred, m.shape.Self, !ev.Fit())
		setMember(&h.drained, m.shape.Self, ev.Drained)
	}
	m.authorityStep(now, ev)
	m.back(now)
}

// onWord hears how another member is.
func (m *Machine) onWord(now protocol.Time, from protocol.Ident, w *Health) {
	h := &m.health
	if int(from.Rank) >= len(h.peers) || from.Rank == m.shape.Self {
		return
	}
	p := &h.peers[from.Rank]
	if from.Inc < p.inc || from.Inc == p.inc && w.Seq <= p.seq {
		return
	}
	*p = condition{inc: from.Inc, seq: w.Seq, end: protocol.Never, said: now, heard: now}
	setMember(&h.barred, from.Rank, !w.OK)
	setMember(&h.drained, from.Rank, !w.OK && w.Drained)
	if w.OK {
		return
	}
	p.end = now.Add(patience * m.pace(w.Drained))
	h.next = min(h.next, p.end)
}

func setMember(s *protocol.Set, r protocol.Rank, in bool) {
	if in {
		s.Add(r)
	} else {
		s.Remove(r)
	}
}

// onNewcomer forgets what an earlier incarnation of a member has said. One that was drained when it fell silent has to repeat
// that now.
func (m *Machine) onNewcomer(now protocol.Time, from protocol.Ident) {
	h := &m.health
	if int(from.Rank) >= len(h.peers) {
		return
	}
	p := &h.peers[from.Rank]
	p.heard = now
	switch drained := h.drained.Has(from.Rank); {
	case from.Rank == m.shape.Self:
	case from.Inc > p.inc && (p.end != protocol.Never || drained):
		*p = condition{inc: from.Inc, end: protocol.Never}
		h.barred.Remove(from.Rank)
		h.drained.Remove(from.Rank)
	case p.end == protocol.Never && drained:
		p.end = now.Add(patience * m.pace(true))
		h.next = min(h.next, p.end)
	}
}

// forget believes those to be well again that have not repeated their word for long. Those that have said nothing else either
// count as drained if they were.
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
			if p.heard.Sub(p.said) > 2*m.pace(true) {
				h.drained.Remove(protocol.Rank(r))
			}
		}
		h.next = min(h.next, p.end)
	}
}

// tellHealth tells the others, if that is due. Members without a vote show it to people.
func (m *Machine) tellHealth(now protocol.Time) {
	h := &m.health
	if now < h.due || m.authority.Incarnation() == 0 {
		return
	}
	h.seq++
	word := protocol.Keep(m.out, Health{Seq: h.seq, OK: h.now.Fit(), Drained: h.now.Drained})
	for r := range m.shape.Present.Without(m.shape.Self).All() {
		m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: word})
	}
	h.due = protocol.Never
	if !h.now.Fit() {
		h.due = now.Add(m.pace(h.now.Drained && h.quick == 0))
		h.quick = max(0, h.quick-1)
	}
}

// unfitAt returns when to report to the elector that this member, which it trusts, may not lead; Never if it may, or is
// not trusted. The report is repeated while the elector stays where it is, in case that others have come back to this member.
func (m *Machine) unfitAt() protocol.Time {
	if m.trusted != m.shape.Self || m.shape.Leaders.Has(m.shape.Self) && m.health.now.Fit() {
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

// Unfit returns the members that are known not to be fit to lead now, and those that are drained as far as this one knows.
func (m *Machine) Unfit() (barred, drained protocol.Set) { return m.health.barred, m.health.drained }

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
