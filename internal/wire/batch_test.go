package wire

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

func mtu(n int) func(*Config) { return func(c *Config) { c.MTU = n } }

// packets seals all payloads of a batch.
func packets(t testing.TB, from, to *Endpoint, seq uint64, b *Batch) (all [][]byte) {
	t.Helper()
	for payload, ok := b.Next(); ok; payload, ok = b.Next() {
		all = append(all, seal(t, from, stamped(from, to, seq), payload))
		seq++
	}
	return all
}

func batchOf(t testing.TB, e *Endpoint, ms ...protocol.Message) *Batch {
	t.Helper()
	b := e.NewBatch()
	for i, m := range ms {
		if err := b.Add(uint32(i), m); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Whatever is added comes out once, whole, on its channel, in packets of at most the MTU, in whatever order and however
// often the packets come.
func TestMessagesOfAnySizeComeThrough(t *testing.T) {
	pairs := []*Pairs{pairsOf(t, 0, 3, PublicKeyring()), pairsOf(t, 1, 3, PublicKeyring())}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(MinMTU, 3000).Draw(t, "mtu")
		e := func(rank protocol.Rank) *Endpoint {
			c := Config{Config: judge(protocol.Ident{Rank: rank, Inc: 1}, 0, Digest{}), Pairs: pairs[rank], MTU: size, table: testTable}
			e, err := NewEndpoint(0, c)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		a, b := e(0), e(1)
		batch := a.NewBatch()
		want := make(map[uint32]int)
		for i := range uint32(rapid.IntRange(0, 12).Draw(t, "messages")) {
			want[i] = rapid.SampledFrom([]int{0, 10, 400, size - overhead - 8, size, 3*size + 7}).Draw(t, "length")
			if err := batch.Add(i, &note{Data: bytes.Repeat([]byte{byte(i + 1)}, want[i])}); err != nil {
				t.Fatal(err)
			}
		}
		long := 0
		for _, n := range want {
			if n > size-overhead-16 {
				long++
			}
		}
		var all [][]byte
		for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
			packet, err := a.Seal(nil, stamped(a, b, uint64(len(all)+1)), 0, payload)
			if err != nil {
				t.Fatal(err)
			}
			if len(packet) > size {
				t.Fatalf("packet of %d bytes, mtu %d", len(packet), size)
			}
			all = append(all, packet)
		}
		if long <= maxAssemblies { // more are not kept apart when they come in any order
			all = append(all, all...)
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for _, packet := range all {
			_, p := open(b, packet)
			for _, m := range p.Messages {
				n, ok := want[m.Channel]
				if data := m.Message.(*note).Data; !ok || !bytes.Equal(data, bytes.Repeat([]byte{byte(m.Channel + 1)}, n)) {
					t.Fatalf("channel %d got %d bytes, want %d, once", m.Channel, len(data), n)
				}
				delete(want, m.Channel)
			}
		}
		if len(want) != 0 || b.pending != 0 {
			t.Fatalf("channels with lengths %v got nothing; %d bytes wait", want, b.pending)
		}
	})
}

func TestShortMessagesShareAPacket(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	batch := batchOf(t, a, &hot{}, &hot{}, &note{Text: "x"})
	for round := range 2 { // the same batch again, for another receiver
		batch.Rewind()
		if all := packets(t, a, b, uint64(10*round+1), batch); len(all) != 1 {
			t.Errorf("three short messages take %d packets", len(all))
		}
	}
	batch.Reset()
	if payload, ok := batch.Next(); ok || !batch.Empty() {
		t.Errorf("an empty batch gives %x", payload)
	}
}

// A packet has no more items than its receiver takes, however long it may be.
func TestManyShortMessagesTakeSeveralPackets(t *testing.T) {
	a, b := endpoint(t, 0, 5, mtu(MaxMTU)), endpoint(t, 1, 9)
	batch := a.NewBatch()
	const n = 3*maxItems + 1
	for range n {
		if err := batch.Add(0, &help{}); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	for _, packet := range packets(t, a, b, 1, batch) {
		got += len(expect(t, b, packet, datagram.Accepted).Messages)
	}
	if got != n {
		t.Errorf("%d messages came, want %d", got, n)
	}
}

func TestBatchRefusesWhatCannotBeSent(t *testing.T) {
	a := endpoint(t, 0, 5)
	b := a.NewBatch()
	if err := b.Add(0, &note{Data: make([]byte, MaxMessage)}); err == nil || !strings.Contains(err.Error(), "in parts") {
		t.Errorf("a message above the limit: error %v", err)
	}
	if err := b.Add(0, &note{Lines: make([]line, maxArray+1)}); err == nil || !strings.Contains(err.Error(), "in parts") {
		t.Errorf("a message with too long an array: error %v", err)
	}
	type stray struct{ note }
	if err := b.Add(0, &stray{}); err == nil || !strings.Contains(err.Error(), "has no number") {
		t.Errorf("a message without a number: error %v", err)
	}
	if !b.Empty() {
		t.Error("refused messages are in the batch")
	}
	small, peer := endpoint(t, 0, 5, mtu(MinMTU)), endpoint(t, 1, 9)
	if _, err := small.Introduce(nil, stamped(small, peer, 1), 0, NewSummary("a")); err == nil {
		t.Error("an empty summary is in a packet")
	}
	s := NewSummary("a")
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		s.Set(name, strings.Repeat("x", 100))
	}
	if _, err := small.Introduce(nil, stamped(small, peer, 1), 0, s); err == nil || !strings.Contains(err.Error(), "raise the mtu") {
		t.Errorf("a summary that does not fit: error %v", err)
	}
}

// Members cannot be made to hold more than the limits, and what was given up is counted.
func TestAssembliesAreBounded(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	seq := uint64(1)
	for range 50 { // only the last part of each is missing
		all := packets(t, a, b, seq, batchOf(t, a, &note{Data: make([]byte, MaxMessage/2)}))
		seq += uint64(len(all))
		for _, packet := range all[:len(all)-1] {
			expect(t, b, packet, datagram.Accepted)
			if p := &b.peers[0].assembling; b.pending > maxPending || p.size > maxPending || len(p.list) > maxAssemblies || b.pending != p.size {
				t.Fatalf("%d bytes in %d messages wait", b.pending, len(p.list))
			}
		}
	}
	if c := b.Counts(); c.GivenUp < 50-maxAssemblies {
		t.Errorf("%d messages given up, want at least %d", c.GivenUp, 50-maxAssemblies)
	}
}

func TestAllPeersTogetherAreBounded(t *testing.T) {
	const members = 100
	b := endpoint(t, 0, 1, func(c *Config) { c.Members, c.MTU = members, MaxMTU })
	for rank := protocol.Rank(1); rank < members; rank++ {
		a := endpoint(t, rank, 1, func(c *Config) { c.Members, c.MTU = members, MaxMTU })
		batch := batchOf(t, a, &note{Data: make([]byte, MaxMessage-100)}, &note{Data: make([]byte, MaxMessage-100)})
		for i, packet := range packets(t, a, b, 1, batch) {
			if i%5 != 4 {
				expect(t, b, packet, datagram.Accepted)
			}
		}
		if b.pending > maxPendingAll {
			t.Fatalf("%d bytes wait, at most %d may", b.pending, maxPendingAll)
		}
	}
	sum := 0
	for i := range b.peers {
		for _, as := range b.peers[i].assembling.list {
			sum += as.size
		}
	}
	if sum != b.pending {
		t.Errorf("%d bytes wait, and %d are accounted for", sum, b.pending)
	}
}

func TestUnfinishedMessagesExpire(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	all := packets(t, a, b, 1, batchOf(t, a, &note{Data: make([]byte, 5000)}))
	var p Packet
	b.Open(0, slices.Clone(all[0]), &p)
	b.Open(protocol.Time(assemblyLife), slices.Clone(all[1]), &p)
	if len(b.peers[0].assembling.list) != 1 {
		t.Fatal("given up too early")
	}
	// Any packet of the peer will do.
	b.Open(protocol.Time(assemblyLife+time.Nanosecond), send(t, a, b, 100), &p)
	if len(b.peers[0].assembling.list) != 0 || b.pending != 0 || b.Counts().GivenUp != 1 {
		t.Errorf("%d messages wait, %d bytes; %d given up", len(b.peers[0].assembling.list), b.pending, b.Counts().GivenUp)
	}
}

// The bound on the delay of the last part must hold for the message: so all parts bear one stamp, and parts that
// contradict one another are thrown away together.
func TestPartsThatContradictOneAnotherAreGivenUp(t *testing.T) {
	for name, change := range map[string]func(f *fragment, sent *protocol.Time){
		"stamp":   func(_ *fragment, sent *protocol.Time) { *sent++ },
		"number":  func(f *fragment, _ *protocol.Time) { f.number++ },
		"channel": func(f *fragment, _ *protocol.Time) { f.channel++ },
		"parts":   func(f *fragment, _ *protocol.Time) { f.parts++ },
		"length":  func(f *fragment, _ *protocol.Time) { f.data = make([]byte, MaxMessage) },
	} {
		b := endpoint(t, 1, 9)
		peer, h := &b.peers[0], &datagram.Header{From: protocol.Ident{Inc: 5}, Sent: 7}
		f := fragment{message: 1, part: 0, parts: 3, number: 20, data: []byte("x")}
		b.join(0, peer, h, &f)
		f.part = 1
		change(&f, &h.Sent)
		if _, ok := b.join(0, peer, h, &f); ok || b.pending != 0 || b.Counts().GivenUp != 1 {
			t.Errorf("another %s: %d bytes wait, %d given up", name, b.pending, b.Counts().GivenUp)
		}
	}
}

// Parts of two starts never make one message.
func TestPartsOfTwoStartsAreKeptApart(t *testing.T) {
	first, second, b := endpoint(t, 0, 5), endpoint(t, 0, 6), endpoint(t, 1, 9)
	old := packets(t, first, b, 1, batchOf(t, first, &note{Data: bytes.Repeat([]byte{1}, 2000)}))
	fresh := packets(t, second, b, 1, batchOf(t, second, &note{Data: bytes.Repeat([]byte{2}, 2000)}))
	expect(t, b, old[0], datagram.Accepted)
	if p := expect(t, b, fresh[1], datagram.Accepted); len(p.Messages) != 0 {
		t.Fatal("half a message of each start was put together")
	}
	if p := expect(t, b, fresh[0], datagram.Accepted); len(p.Messages) != 1 || !reflect.DeepEqual(p.Messages[0].Message.(*note).Data, bytes.Repeat([]byte{2}, 2000)) {
		t.Errorf("messages %v", p.Messages)
	}
}
