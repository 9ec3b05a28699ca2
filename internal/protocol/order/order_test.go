package order

import (
	"bytes"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// hear lets a machine take a message and returns what it sends.
func hear(m *Machine, now time.Duration, from protocol.Ident, msg protocol.Message) []protocol.Envelope {
	var out protocol.Effects
	m.Step(protocol.Time(now), &protocol.Receive{From: from, Message: msg}, &out)
	return out.Send
}

// askFor returns the number of the ticket that a machine gives out.
func askFor(t *testing.T, m *Machine, now time.Duration, from protocol.Ident, id uint64) uint64 {
	t.Helper()
	sent := hear(m, now, from, &Ask{ID: id})
	if len(sent) != 1 || sent[0].To != from.Rank {
		t.Fatalf("answered with %v", sent)
	}
	return sent[0].Message.(*Ticket).Number
}

func state(t *testing.T, sent []protocol.Envelope) State {
	t.Helper()
	if len(sent) != 1 {
		t.Fatalf("answered with %v", sent)
	}
	return sent[0].Message.(*Told).State
}

var b, c = protocol.Ident{Rank: 1, Inc: 5}, protocol.Ident{Rank: 2, Inc: 5}

// A ticket is worth nothing to another sender, to another life of its sender, and at another incarnation of the member that gave it out.
func TestATicketIsForOneSenderAndOneReceiver(t *testing.T) {
	m := New(0, 7)
	number := askFor(t, m, time.Hour, b, 1)
	if other := askFor(t, m, time.Hour, c, 1); other == number {
		t.Error("two senders have the same ticket")
	}
	if again := askFor(t, m, time.Hour, b, 1); again != number {
		t.Error("a repeated question got another ticket")
	}
	for name, try := range map[string]struct {
		from protocol.Ident
		inc  protocol.Inc
	}{"another sender": {c, 7}, "another life of the sender": {protocol.Ident{Rank: b.Rank, Inc: 6}, 7}, "another incarnation": {b, 6}} {
		if got := state(t, hear(m, time.Hour, try.from, &Do{For: try.inc, Number: number, Body: []byte("x")})); got != Unheard {
			t.Errorf("%s: state %d", name, got)
		}
	}
	if d, _ := m.Take(); len(d) > 0 {
		t.Errorf("executed %v", d)
	}
	if got := state(t, hear(m, time.Hour, b, &Do{For: 7, Number: number, Body: []byte("x")})); got != Running {
		t.Errorf("its sender: state %d", got)
	}
}

// A machine that takes the place of another one of the same incarnation gives out none of its tickets again, and takes none.
func TestAMachineThatIsMadeAnewKnowsNoTicketOfTheOneBefore(t *testing.T) {
	number := askFor(t, New(0, 7), time.Hour, b, 1)
	next := New(0, 7)
	if got := askFor(t, next, time.Hour+1, b, 1); got == number {
		t.Error("the ticket was given out again")
	}
	if got := state(t, hear(next, time.Hour+2, b, &Do{For: 7, Number: number, Body: []byte("x")})); got != Unheard {
		t.Errorf("state %d", got)
	}
}

// What a sender fills is its own share, and what is over makes room.
func TestTicketsAreBounded(t *testing.T) {
	m := New(0, 7)
	for id := range uint64(MaxFrom) {
		if askFor(t, m, time.Hour, b, id) == 0 {
			t.Fatalf("no ticket %d", id)
		}
	}
	if askFor(t, m, time.Hour, b, 99) != 0 || len(m.taken) > MaxFrom {
		t.Error("a sender has more than its share")
	}
	if askFor(t, m, time.Hour, c, 1) == 0 {
		t.Error("another sender finds no room")
	}
	if askFor(t, m, time.Hour+ticketLife, b, 100) == 0 {
		t.Error("tickets that ran out make no room")
	}
	for r := range protocol.Rank(10) {
		for id := range uint64(MaxFrom) {
			askFor(t, m, time.Hour+ticketLife, protocol.Ident{Rank: 3 + r, Inc: 1}, id)
		}
	}
	if len(m.taken) > MaxTaken {
		t.Errorf("%d tickets", len(m.taken))
	}
}

func TestOrdersAreBounded(t *testing.T) {
	m := New(0, 7)
	for _, body := range [][]byte{nil, bytes.Repeat([]byte{1}, MaxBody+1)} {
		if _, ok := m.Send(0, 1, body); ok {
			t.Errorf("an order of %d bytes is sent", len(body))
		}
	}
	if _, ok := m.Send(0, 0, []byte("x")); ok {
		t.Error("an order to oneself is sent")
	}
	number := askFor(t, m, time.Hour, b, 1)
	hear(m, time.Hour, b, &Do{For: 7, Number: number, Body: bytes.Repeat([]byte{1}, MaxBody+1)})
	if d, _ := m.Take(); len(d) > 0 {
		t.Error("an order is executed that is too long")
	}
	hear(m, time.Hour, b, &Do{For: 7, Number: number, Body: []byte("x")})
	m.Finish(protocol.Time(time.Hour), number, bytes.Repeat([]byte{1}, MaxBody+1))
	var out protocol.Effects
	m.Step(protocol.Time(time.Hour), protocol.Tick{}, &out)
	if len(out.Send) != 1 || len(out.Send[0].Message.(*Told).Body) != MaxBody {
		t.Errorf("told %v", out.Send)
	}
}
