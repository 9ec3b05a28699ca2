package order

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// An Outcome is how an order has ended for its sender.
type Outcome uint8

const (
	// Unknown says that the receiver may have executed the order.
	Unknown Outcome = iota
	// Answered says that it has.
	Answered
	// NotTaken says that it has not, and never will: it did not answer at all, or too late.
	NotTaken
	// Busy says the same of a receiver that has too many orders.
	Busy
)

// An End is the outcome of an order that this member has sent. Answer is that of its receiver.
type End struct {
	ID      uint64
	Outcome Outcome
	Answer  []byte
}

// sent is an order that is under way.
type sent struct {
	to   protocol.Rank
	id   uint64
	body []byte
	// ticket is that of the receiver's incarnation inc; 0: there is none yet.
	// Invariant: once set it stays, so that the order is never sent with two tickets.
	ticket uint64
	inc    protocol.Inc
	// running says that the receiver is executing the order.
	running bool
	// next is when to send again, and deadline when to give up.
	next, deadline protocol.Time
}

// Send begins to send an order. It returns false if too many are under way, or the order is empty or too long.
func (m *Machine) Send(now protocol.Time, to protocol.Rank, body []byte) (id uint64, ok bool) {
	if len(m.sent) >= MaxSent || len(body) == 0 || len(body) > MaxBody || to == m.self {
		return 0, false
	}
	id = m.number(now)
	m.sent = append(m.sent, sent{to: to, id: id, body: body, next: now, deadline: now.Add(AskTimeout)})
	return id, true
}

// Drop ends the sending of an order. Its receiver may go on with it if it has the order already.
func (m *Machine) Drop(id uint64) {
	m.sent = slices.DeleteFunc(m.sent, func(s sent) bool { return s.id == id })
}

// end reports the outcome of an order and forgets it.
func (m *Machine) end(s *sent, o Outcome, answer []byte) {
	m.ended = append(m.ended, End{ID: s.id, Outcome: o, Answer: answer})
	m.Drop(s.id)
}

// sentTo returns the order to a receiver that fits; nil if there is none.
func (m *Machine) sentTo(to protocol.Rank, fits func(*sent) bool) *sent {
	for i := range m.sent {
		if s := &m.sent[i]; s.to == to && fits(s) {
			return s
		}
	}
	return nil
}

func (m *Machine) onTicket(now protocol.Time, from protocol.Ident, msg *Ticket) {
	s := m.sentTo(from.Rank, func(s *sent) bool { return s.id == msg.ID && s.ticket == 0 })
	switch {
	case s == nil:
	case msg.Number == 0:
		m.end(s, Busy, nil)
	default:
		s.ticket, s.inc = msg.Number, from.Inc
		s.next, s.deadline = now, now.Add(SilenceTimeout)
	}
}

func (m *Machine) onTold(now protocol.Time, from protocol.Ident, msg *Told) {
	s := m.sentTo(from.Rank, func(s *sent) bool { return s.ticket == msg.Number && s.ticket != 0 })
	switch {
	case s == nil:
	case msg.State == Unheard || from.Inc != s.inc: // it has restarted since, or has forgotten
		m.end(s, Unknown, nil)
	case msg.State == Void:
		m.end(s, NotTaken, nil)
	case msg.State == Done:
		m.end(s, Answered, slices.Clone(msg.Body))
	default:
		s.running, s.deadline = true, now.Add(SilenceTimeout)
		s.next = now.Add(lookInterval)
	}
}

// sendDue sends what is due and gives up what has taken too long. It returns when it wants to be called next.
func (m *Machine) sendDue(now protocol.Time, out *protocol.Effects) protocol.Time {
	for i := 0; i < len(m.sent); {
		s := &m.sent[i]
		if now < s.deadline {
			i++
			continue
		}
		m.giveUp(s)
	}
	wake := protocol.Never
	for i := range m.sent {
		s := &m.sent[i]
		if s.next <= now {
			out.Send = append(out.Send, protocol.Envelope{To: s.to, Message: s.message(out)})
			s.next = now.Add(repeatInterval)
			if s.running {
				s.next = now.Add(lookInterval)
			}
		}
		wake = min(wake, s.next, s.deadline)
	}
	return wake
}

// message returns what the sender says next.
func (s *sent) message(out *protocol.Effects) protocol.Message {
	switch {
	case s.ticket == 0:
		return protocol.Keep(out, Ask{ID: s.id})
	case s.running:
		return protocol.Keep(out, Do{For: s.inc, Number: s.ticket})
	}
	return protocol.Keep(out, Do{For: s.inc, Number: s.ticket, Body: s.body})
}

// Abandon ends all orders, as when another machine takes the place of this one.
func (m *Machine) Abandon() []End {
	for len(m.sent) > 0 {
		m.giveUp(&m.sent[0])
	}
	_, ended := m.Take()
	return ended
}

// giveUp ends an order of which nothing more will be heard.
func (m *Machine) giveUp(s *sent) {
	if s.ticket == 0 {
		m.end(s, NotTaken, nil)
	} else {
		m.end(s, Unknown, nil)
	}
}
