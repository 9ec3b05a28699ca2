package order

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Limits.
const (
	// MaxBody is the length of the longest order, and of the longest answer.
	MaxBody = 16 << 10
	// MaxSent is how many orders of this member may be under way, and MaxTaken how many tickets may be valid or in use; MaxFrom is
	// how many of these may be of one sender.
	MaxSent  = 64
	MaxTaken = 64
	MaxFrom  = 16
)

// The lengths of time are far above what a round trip takes. No safety rests on them.
const (
	// repeatInterval is how often a message is repeated that was not answered, and lookInterval how often the sender asks what became of an order
	// that is being executed.
	repeatInterval = 250 * time.Millisecond
	lookInterval   = 500 * time.Millisecond
	// AskTimeout is how long a receiver may not answer at all, SilenceTimeout how long it may be silent once the order was sent.
	AskTimeout     = 4 * time.Second
	SilenceTimeout = 10 * time.Second
	// ticketLife is how long a ticket may be used, and keepFor how long its outcome is kept if there is room.
	ticketLife = 5 * time.Second
	keepFor    = time.Minute
)

// A Machine is one member's part: it sends orders of its own, and takes those of others. Its driver calls Send, Drop and Finish, and
// gives it a Tick after them; after each Step it calls Take.
type Machine struct {
	self protocol.Rank
	inc  protocol.Inc
	// last is the last number that was given to an order or a ticket. No other machine of this incarnation has given it.
	last uint64
	sent []sent
	// taken are the tickets, oldest first.
	taken     []taken
	delivered []Delivery
	ended     []End
}

// New returns the machine of a member that speaks as inc.
func New(self protocol.Rank, inc protocol.Inc) *Machine { return &Machine{self: self, inc: inc} }

// number returns a number that no machine of this incarnation has given before: the clock goes on when another machine takes the place of one.
func (m *Machine) number(now protocol.Time) uint64 {
	m.last = max(m.last+1, uint64(max(0, now)))
	return m.last
}

// Step takes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.expire(now)
	if r, ok := ev.(*protocol.Receive); ok && r.From.Rank != m.self {
		switch msg := r.Message.(type) {
		case *Ask:
			m.onAsk(now, r.From, msg, out)
		case *Do:
			m.onDo(r.From, msg, out)
		case *Ticket:
			if msg.For == m.inc {
				m.onTicket(now, r.From, msg)
			}
		case *Told:
			if msg.For == m.inc {
				m.onTold(now, r.From, msg)
			}
		}
	}
	m.report(out)
	out.Wake = min(m.sendDue(now, out), m.expire(now))
}

// Take returns the orders that are to be executed and the outcomes of those that were sent, once.
func (m *Machine) Take() ([]Delivery, []End) {
	delivered, ended := m.delivered, m.ended
	m.delivered, m.ended = nil, nil
	return delivered, ended
}
