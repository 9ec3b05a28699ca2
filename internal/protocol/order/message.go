package order

import "github.com/regentproject/regent/internal/protocol"

// A State is what became of an order, as its receiver knows it.
type State uint8

const (
	// Unheard says that the receiver knows nothing of the ticket. It may have executed the order and forgotten it.
	Unheard State = iota
	// Running says that the order is being executed, and Done that it was.
	Running
	Done
	// Void says that the ticket ran out before it was used: the order was not executed, and never will be.
	Void
)

// The messages. For is the incarnation of the receiver for which one is meant.
type (
	// Ask asks for a ticket for an order. IDs tell the orders of one incarnation from one another.
	Ask struct{ ID uint64 }
	// Ticket gives one out; Number 0: there is no room for the order.
	Ticket struct {
		For    protocol.Inc
		ID     uint64
		Number uint64
	}
	// Do is an order. Without a Body it asks what became of the order.
	Do struct {
		For    protocol.Inc
		Number uint64
		Body   []byte
	}
	// Told says what became of an order. Body is the answer to it if that is Done.
	Told struct {
		For    protocol.Inc
		Number uint64
		State  State
		Body   []byte
	}
)

// Copy returns a message of its own.
func (m *Ask) Copy() protocol.Message    { c := *m; return &c }
func (m *Ticket) Copy() protocol.Message { c := *m; return &c }
func (m *Do) Copy() protocol.Message {
	c := *m
	c.Body = append([]byte(nil), m.Body...)
	return &c
}

func (m *Told) Copy() protocol.Message {
	c := *m
	c.Body = append([]byte(nil), m.Body...)
	return &c
}

// Name returns the name of the message.
func (m *Ask) Name() string    { return "order.Ask" }
func (m *Ticket) Name() string { return "order.Ticket" }
func (m *Do) Name() string     { return "order.Do" }
func (m *Told) Name() string   { return "order.Told" }
