package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
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
	{Number: 22, Message: (*help)(nil), Recovery: true, Any: true},
})

var testCouncil = protocol.CouncilID{0xc0, 0xff, 0xee, 15: 1}

var testKey = []byte("0123456789abcdef0123456789abcdef")

func ringOf(t testing.TB, keys ...[]byte) Keyring {
	t.Helper()
	r, err := NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// private returns the private key of a member, which follows from its rank and how often it was replaced.
func private(rank protocol.Rank, generation byte) identity.Private {
	return identity.Private{1: byte(rank), 2: generation, 31: 0x55}
}

// nameOf returns the name of a member.
func nameOf(rank protocol.Rank) string { return string(rune('a' + rank)) }

// pairsOf returns the keys of a member, with those of the ring; change may alter them.
func pairsOf(t testing.TB, self protocol.Rank, members int, ring Keyring, change ...func(*PairsConfig)) *Pairs {
	t.Helper()
	c := PairsConfig{Ring: ring, Self: self, Private: []identity.Private{private(self, 0)}}
	for r := range protocol.Rank(max(members, int(self)+1)) {
		c.Members = append(c.Members, Identity{Name: nameOf(r), Keys: []identity.Public{private(r, 0).Public()}})
	}
	for _, f := range change {
		f(&c)
	}
	p, err := NewPairs(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func summaryOf(member string) *Summary {
	return NewSummary(member).Set("members", "a b c").Set("quorum", "2 of 3").Set("rho", "0.001")
}

// judge returns the configuration of the judge of packets in a council of three.
func judge(self protocol.Ident, epoch uint64, digest Digest) datagram.Config {
	return datagram.Config{Self: self, Members: 3, Council: datagram.Council{Epoch: epoch, Digest: digest}, Delta: time.Second}
}

// usualPairs are those of endpoint, which fuzzers call often.
var usualPairs sync.Map

// endpoint returns an endpoint of a council of three; change may alter its configuration.
func endpoint(t testing.TB, rank protocol.Rank, inc protocol.Inc, change ...func(*Config)) *Endpoint {
	t.Helper()
	c := Config{Config: judge(protocol.Ident{Rank: rank, Inc: inc}, 1, summaryOf("").Digest()), ID: testCouncil, table: testTable}
	for _, f := range change {
		f(&c)
	}
	if c.Pairs == nil {
		at := [2]int{int(rank), c.Members}
		p, ok := usualPairs.Load(at)
		if !ok {
			p = pairsOf(t, rank, c.Members, ringOf(t, testKey))
			usualPairs.Store(at, p)
		}
		c.Pairs = p.(*Pairs)
	}
	e, err := NewEndpoint(0, c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// stamped returns the header of a packet between two endpoints that know one another.
func stamped(from, to *Endpoint, seq uint64) *datagram.Header {
	return &datagram.Header{From: from.Self(), Start: from.start, Council: from.council, To: to.Self(), ToStart: to.start.Prefix(), Seq: seq, Sent: 1000, Echo: datagram.Echo{Sent: 10, Received: 20}}
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

// introduce makes an introduction of one endpoint to the other.
func introduce(t testing.TB, from, to *Endpoint, seq uint64, s *Summary) []byte {
	t.Helper()
	packet, err := from.Introduce(nil, stamped(from, to, seq), 0, s)
	if err != nil {
		t.Fatal(err)
	}
	return packet
}

// open opens a copy, so that the packet can be used again.
func open(e *Endpoint, packet []byte) (datagram.Reason, *Packet) {
	var p Packet
	v := e.Open(100, bytes.Clone(packet), &p)
	return v.Reason, &p
}

// expect opens a packet and checks what becomes of it.
func expect(t testing.TB, e *Endpoint, packet []byte, want datagram.Reason) *Packet {
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
	fmt.Fprintln(&b, e.Self(), e.message, e.pending)
	for i := range e.peers {
		p := &e.peers[i]
		fmt.Fprintln(&b, i, p.sealed, p.lowest, p.highest, p.uses, p.lists)
		for _, s := range []*ciphers{&p.current, &p.lost} {
			fmt.Fprint(&b, s.inc, s.start)
			for _, c := range s.list {
				fmt.Fprint(&b, " ", c.lane)
			}
			fmt.Fprintln(&b)
		}
		for _, a := range p.assembling.list {
			fmt.Fprintln(&b, a.message, a.sent, a.missing, a.size, a.parts)
		}
	}
	fmt.Fprintln(&b, judged(e))
	return b.String()
}

// judged is what the judge of packets knows of all peers, or only some of it.
func judged(e *Endpoint, fields ...string) string {
	var b bytes.Buffer
	peers := reflect.ValueOf(e.Endpoint).Elem().FieldByName("peers")
	for i := range peers.Len() {
		if len(fields) == 0 {
			fmt.Fprintln(&b, peers.Index(i))
		}
		for _, name := range fields {
			fmt.Fprintln(&b, peers.Index(i).FieldByName(name))
		}
	}
	return b.String()
}

// remembered is which starts and numbers of the peers an endpoint knows: what decides over replays.
func remembered(e *Endpoint) string { return judged(e, "inc", "current", "lost", "pairs") }
