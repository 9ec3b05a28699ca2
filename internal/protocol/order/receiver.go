package order

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A Delivery is an order of another member that is to be executed. Finish takes the answer to it.
type Delivery struct {
	From   protocol.Rank
	Number uint64
	Body   []byte
}

// issued is the state of a ticket that was not used. It does not travel.
const issued State = 255

// taken is a ticket that was given out.
type taken struct {
	from       protocol.Ident
	id, number uint64
	// state leaves issued once, and the order is delivered then or never.
	state State
	// until is when a ticket that was not used becomes void, and when one that was is forgotten.
	until  protocol.Time
	answer []byte
	// tell says that the sender is to be told the outcome at the next Step.
	tell bool
}

// open says whether the ticket may yet be used, or is in use.
func (t *taken) open() bool { return t.state == issued || t.state == Running }

func (m *Machine) ticket(fits func(*taken) bool) *taken {
	if i := slices.IndexFunc(m.taken, func(t taken) bool { return fits(&t) }); i >= 0 {
		return &m.taken[i]
	}
	return nil
}

func (m *Machine) onAsk(now protocol.Time, from protocol.Ident, msg *Ask, out *protocol.Effects) {
	answer := protocol.Keep(out, Ticket{For: from.Inc, ID: msg.ID})
	out.Send = append(out.Send, protocol.Envelope{To: from.Rank, Message: answer})
	if t := m.ticket(func(t *taken) bool { return t.from == from && t.id == msg.ID }); t != nil {
		answer.Number = t.number
		return
	}
	if !m.makeRoom(from.Rank) {
		return
	}
	answer.Number = m.number(now)
	m.taken = append(m.taken, taken{from: from, id: msg.ID, number: answer.Number, state: issued, until: now.Add(ticketLife)})
}

// makeRoom finds room for an order of a member, in place of what became of an earlier one if need be.
func (m *Machine) makeRoom(from protocol.Rank) bool {
	open, own, ownOpen := 0, 0, 0
	for i := range m.taken {
		t := &m.taken[i]
		if t.open() {
			open++
		}
		if t.from.Rank == from {
			own++
			if t.open() {
				ownOpen++
			}
		}
	}
	if open >= MaxTaken || ownOpen >= MaxFrom {
		return false
	}
	if own < MaxFrom && len(m.taken) < MaxTaken {
		return true
	}
	i := slices.IndexFunc(m.taken, func(t taken) bool { return !t.open() && (own < MaxFrom || t.from.Rank == from) })
	m.taken = slices.Delete(m.taken, i, i+1)
	return true
}

func (m *Machine) onDo(from protocol.Ident, msg *Do, out *protocol.Effects) {
	t := m.ticket(func(t *taken) bool { return t.number == msg.Number && t.from == from })
	switch {
	case t == nil || msg.For != m.inc:
		out.Send = append(out.Send, protocol.Envelope{To: from.Rank, Message: protocol.Keep(out, Told{For: from.Inc, Number: msg.Number, State: Unheard})})
		return
	case t.state == issued && (len(msg.Body) == 0 || len(msg.Body) > MaxBody):
		return
	case t.state == issued:
		t.state = Running
		m.delivered = append(m.delivered, Delivery{From: from.Rank, Number: t.number, Body: slices.Clone(msg.Body)})
	}
	t.tell = true
}

// Finish takes the answer to an order that was delivered. An answer that is too long is cut.
func (m *Machine) Finish(now protocol.Time, number uint64, answer []byte) {
	if t := m.ticket(func(t *taken) bool { return t.number == number && t.state == Running }); t != nil {
		t.state, t.answer, t.until, t.tell = Done, answer[:min(len(answer), MaxBody)], now.Add(keepFor), true
	}
}

// report tells senders what became of their orders.
func (m *Machine) report(out *protocol.Effects) {
	for i := range m.taken {
		if t := &m.taken[i]; t.tell {
			t.tell = false
			out.Send = append(out.Send, protocol.Envelope{To: t.from.Rank, Message: protocol.Keep(out, Told{For: t.from.Inc, Number: t.number, State: t.state, Body: t.answer})})
		}
	}
}

// expire ends tickets that were not used and forgets what is over. It returns when it wants to be called next.
func (m *Machine) expire(now protocol.Time) protocol.Time {
	wake := protocol.Never
	for i := range m.taken {
		if t := &m.taken[i]; t.state == issued && now >= t.until {
			t.state, t.until = Void, now.Add(keepFor)
		}
	}
	m.taken = slices.DeleteFunc(m.taken, func(t taken) bool { return !t.open() && now >= t.until })
	for i := range m.taken {
		if t := &m.taken[i]; t.state != Running {
			wake = min(wake, t.until)
		}
	}
	return wake
}
