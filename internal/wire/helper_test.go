package wire

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// note is a message of these tests, with a field of every kind that a message may have.
type note struct {
	Text    string
	Count   uint64
	Delta   int64
	Yes     bool
	Members protocol.Set
	Data    []byte
	Lines   []line
	Of      protocol.Ident
	_, _    int // does not travel
}

type line struct {
	Group protocol.Group
	Term  uint64
}

func (*note) Name() string { return "test.Note" }
func (n *note) Copy() protocol.Message {
	c := *n
	c.Data, c.Lines = slices.Clone(n.Data), slices.Clone(n.Lines)
	return &c
}

// hot is a message as it is sent when nothing happens.
type hot struct {
	Seq   uint64
	Delta int64
	Round uint64
	Start protocol.Time
}

func (*hot) Name() string             { return "test.Hot" }
func (h *hot) Copy() protocol.Message { c := *h; return &c }

// help is a message of a member that does not know its incarnation.
type help struct {
	Nonce uint64
}

func (*help) Name() string             { return "test.Help" }
func (h *help) Copy() protocol.Message { c := *h; return &c }

var testTable = newTable([]Type{
	{Number: 20, Message: (*note)(nil)},
	{Number: 21, Message: (*hot)(nil)},
	{Number: 22, Message: (*help)(nil), Recovery: true},
})

var testKey = []byte("0123456789abcdef0123456789abcdef")

func ringOf(t testing.TB, keys ...[]byte) Keyring {
	t.Helper()
	r, err := NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func summaryOf(member string) *Summary {
	return NewSummary(member).Set("members", "a b c").Set("quorum", "2 of 3").Set("rho", "0.001")
}

// endpoint returns an endpoint of a council of three; change may alter its configuration.
func endpoint(t testing.TB, rank protocol.Rank, inc protocol.Inc, change ...func(*Config)) *Endpoint {
	t.Helper()
	c := Config{Me: protocol.Ident{Rank: rank, Inc: inc}, Members: 3, Epoch: 1, Digest: summaryOf("").Digest(),
		Keys: ringOf(t, testKey), table: testTable}
	for _, f := range change {
		f(&c)
	}
	e, err := NewEndpoint(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// stamped returns the header of a packet between two endpoints that know one another.
func stamped(from, to *Endpoint, seq uint64) *datagram.Header {
	return &datagram.Header{From: from.Me(), To: to.Me(), Seq: seq, Sent: 1000, Echo: datagram.Echo{Sent: 10, Received: 20}}
}

func payloadOf(t testing.TB, e *Endpoint, ms ...protocol.Message) []byte {
	t.Helper()
	b := e.NewBatch()
	for _, m := range ms {
		if err := b.Add(7, m); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := b.Next()
	return p
}

func seal(t testing.TB, e *Endpoint, d *datagram.Header, payload []byte) []byte {
	t.Helper()
	packet, err := e.Seal(nil, d, 0, payload)
	if err != nil {
		t.Fatal(err)
	}
	return packet
}

// send seals one message from one endpoint to the other.
func send(t testing.TB, from, to *Endpoint, seq uint64, ms ...protocol.Message) []byte {
	t.Helper()
	return seal(t, from, stamped(from, to, seq), payloadOf(t, from, ms...))
}

// open opens a copy, so that the packet can be used again.
func open(e *Endpoint, packet []byte) (Reason, *Packet) {
	var p Packet
	r := e.Open(0, bytes.Clone(packet), &p)
	return r, &p
}

// expect opens a packet and checks what becomes of it.
func expect(t testing.TB, e *Endpoint, packet []byte, want Reason) *Packet {
	t.Helper()
	before := e.Counts()
	r, p := open(e, packet)
	if r != want {
		t.Fatalf("packet is %v, want %v", r, want)
	}
	if after := e.Counts(); after.Packets[r] != before.Packets[r]+1 {
		t.Fatalf("packet is %v, and counted %d times", r, after.Packets[r]-before.Packets[r])
	}
	return p
}

// state is everything that an endpoint remembers, its counts aside.
func state(e *Endpoint) string {
	var b bytes.Buffer
	fmt.Fprintln(&b, e.me, e.message, e.pending)
	for i := range e.peers {
		p := &e.peers[i]
		fmt.Fprintln(&b, i, p.sealed, p.lowest, p.highest)
		for _, s := range []*session{&p.current, &p.recovering} {
			fmt.Fprint(&b, s.known, s.start, s.window)
			for _, c := range s.ciphers {
				fmt.Fprint(&b, " ", c.id)
			}
			fmt.Fprintln(&b)
		}
		for _, a := range p.assembling.list {
			fmt.Fprintln(&b, a.message, a.sent, a.missing, a.size, a.parts)
		}
	}
	return b.String()
}
