package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Packets from anywhere: nothing but an authentic packet changes an endpoint, and none makes it panic.
func FuzzOpen(f *testing.F) {
	quiet := func(c *Config) { c.Random = bytes.NewReader(make([]byte, len(datagram.Start{}))) }
	a, b := endpoint(f, 0, 5, quiet), endpoint(f, 1, 9, quiet)
	f.Add(send(f, a, b, 1, &hot{Seq: 1}))
	f.Add(send(f, a, b, 2, &note{Text: "x"}))
	f.Add(send(f, endpoint(f, 2, 0, quiet), b, 1, &help{}))
	f.Add(send(f, endpoint(f, 0, 5, quiet, func(c *Config) { c.Council.Epoch = 2 }), b, 1))
	f.Add(introduce(f, endpoint(f, 0, 5, quiet), b, 1, summaryOf("a")))
	f.Add(introduce(f, endpoint(f, 0, 5, quiet, func(c *Config) { c.Council.Epoch = 2 }), b, 1, summaryOf("a")))
	for _, at := range []int{offMagic, offMagic + 1, offPayload} { // another magic, and a forged packet
		for _, by := range []byte{magic1 ^ 'g', 1} {
			packet := send(f, endpoint(f, 0, 5, quiet), b, 1)
			packet[at] ^= by
			f.Add(packet)
		}
	}
	forged := introduce(f, endpoint(f, 0, 5, quiet), b, 1, summaryOf("a"))
	forged[offPayload] ^= 1
	f.Add(forged)
	f.Add([]byte("Rg"))
	f.Add(obituary.Append(nil, letterTo(f, a, 1), 1, &blue))
	f.Fuzz(func(t *testing.T, packet []byte) {
		e := endpoint(t, 1, 9, quiet)
		before := state(e)
		r, p := open(e, packet)
		if r.Dropped() && r != datagram.Version && state(e) != before {
			t.Fatalf("a packet that is %v changed the endpoint", r)
		}
		if r != datagram.Accepted && len(p.Messages) > 0 {
			t.Fatalf("a packet that is %v has messages", r)
		}
	})
}

// What a member with the key may say: it is taken whole or not at all, within the limits.
func FuzzPayload(f *testing.F) {
	a := endpoint(f, 0, 5)
	f.Add(uint8(1), payloadOf(f, a, &hot{Seq: 1}, &note{Text: "x", Lines: []line{{"g", 1}}}, &help{}))
	b := batchOf(f, a, &note{Data: make([]byte, 3000)})
	for payload, ok := b.Next(); ok; payload, ok = b.Next() {
		f.Add(uint8(1), bytes.Clone(payload))
	}
	body, err := summaryOf("a").encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(1), appendItem(nil, itemSummary, 0, body))
	f.Add(uint8(0), payloadOf(f, a, &help{}))
	f.Fuzz(func(t *testing.T, inc uint8, payload []byte) {
		if len(payload) > maxDatagram-overhead {
			return
		}
		quiet := func(c *Config) { c.Random = bytes.NewReader(make([]byte, len(datagram.Start{}))) }
		a, b := endpoint(t, 0, protocol.Inc(inc), quiet), endpoint(t, 1, 9, quiet)
		before := state(b)
		r, p := open(b, seal(t, a, stamped(a, b, 1), payload))
		switch r {
		case datagram.Malformed:
			if state(b) != before || len(p.Messages) > 0 {
				t.Fatal("a malformed payload was taken in part")
			}
			return
		case datagram.Accepted:
		default:
			t.Fatal(r)
		}
		if b.pending > maxPending || len(p.Messages) > maxItems {
			t.Fatalf("%d bytes wait, %d messages", b.pending, len(p.Messages))
		}
		again := a.NewBatch()
		for _, m := range p.Messages {
			if inc == 0 && m.Name() != "test.Help" {
				t.Fatalf("%s came from a member without an incarnation", m.Name())
			}
			if err := again.Add(m.Channel, m.Message); err != nil {
				t.Fatalf("%s came in and cannot go out: %v", m.Name(), err)
			}
		}
	})
}

// Every message of the table: a body that decodes has one meaning, which survives another round.
func FuzzMessage(f *testing.F) {
	for _, row := range Types {
		f.Add(uint16(row.Number), []byte{0xa0})
		f.Add(uint16(row.Number), []byte{0xa1, 0x01, 0x05})
		f.Add(uint16(row.Number), []byte{0xa2, 0x01, 0x05, 0x02, 0x81, 0xa1, 0x01, 0x61, 0x67})
	}
	for number, m := range map[uint16]protocol.Message{
		32:  &lease.Request{Seq: 1, More: []lease.Ask{{Length: 5, Delta: 6}, {Length: 7, Delta: 8}}, Claims: []lease.Claim{{Group: "g", Term: 1, Length: 7}}},
		33:  &lease.OK{Seq: 1, More: []lease.Kept{{Length: 5, Gen: 2}}, Results: []lease.Result{{Group: "g", Term: 1}}},
		226: &council.Accept{Slot: 8, Ballot: council.Ballot{Round: 1, Inc: 7}, Conf: someConfig(8)},
		232: &council.Known{Slot: 8, Speaks: true, Accepted: council.Vote{Conf: someConfig(8)}},
	} {
		var body bytes.Buffer
		if _, err := messages.append(&body, m); err != nil {
			f.Fatal(err)
		}
		f.Add(number, body.Bytes())
	}
	for number := range testTable.byNumber {
		f.Add(uint16(number), []byte{0xa2, 0x01, 0x61, 0x67, 0x07, 0x81, 0xa1, 0x01, 0x61, 0x67})
	}
	f.Fuzz(func(t *testing.T, number uint16, body []byte) {
		for _, table := range []*table{messages, testTable} {
			p := newPool(table)
			list := p.rows[Number(number)]
			if list == nil || len(body) > MaxMessage {
				continue
			}
			m, err := list.decode(p, body)
			if err != nil {
				continue
			}
			var once, twice bytes.Buffer
			if _, err := table.append(&once, m); err != nil {
				t.Fatalf("%s: decoded to %+v, which does not encode: %v", m.Name(), m, err)
			}
			p.reset()
			again, err := list.decode(p, once.Bytes())
			if err != nil {
				t.Fatalf("%s: encoded to %x, which does not decode: %v", m.Name(), once.Bytes(), err)
			}
			if _, err := table.append(&twice, again); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
				t.Fatalf("%s: %x, then %x, %v", m.Name(), once.Bytes(), twice.Bytes(), err)
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	a, b := endpoint(f, 0, 5), endpoint(f, 1, 9)
	f.Add(send(f, a, b, 1))
	f.Add(make([]byte, offPayload))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) < offPayload {
			return
		}
		var h header
		var d datagram.Header
		parseHeader(packet, &h, &d)
		parseStamps(packet[headerSize:], &d)
		got := appendStamps(appendHeader(nil, &h, &d), &d)
		copy(got, packet[:2]) // the magic is not parsed
		if !bytes.Equal(got, packet[:offPayload]) {
			t.Fatalf("%x became %x", packet[:offPayload], got)
		}
	})
}

func FuzzFragment(f *testing.F) {
	f.Add([]byte{1, 0, 2, 20, 1})
	f.Add([]byte{1, 1, 2, 20, 1, 2, 3})
	f.Add([]byte{0x80, 0x01, 0, 0xff, 0x07, 0x90, 0x01, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		f, err := parseFragment(received{body: body})
		if err != nil {
			return
		}
		if f.part < 0 || f.part >= f.parts || f.parts > maxFragments || len(f.data) == 0 || f.number < FirstMessage {
			t.Fatalf("%x is taken for %+v", body, f)
		}
	})
}

func FuzzSummary(f *testing.F) {
	b, err := summaryOf("a").encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0xa0})
	f.Add(make([]byte, maxSummary+1))
	for _, s := range []*Summary{NewSummary(strings.Repeat("x", maxName+1)).Set("a", "b"), NewSummary("a").Set("a", "b").Set("a", "c"), NewSummary("a").Set("a", strings.Repeat("x", maxValue+1))} {
		b, err := encMode.Marshal(s) // which Check refuses, or encode cuts
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := decodeSummary(body)
		if err != nil {
			return
		}
		if _, err := s.encode(); err != nil {
			t.Fatalf("%+v came in and cannot go out: %v", s, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	f.Add("3031323334353637383961626364656630313233343536373839616263646566")
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := ParseKey(text); err == nil && len(key) < MinKey {
			t.Fatalf("%q is taken for a key of %d bytes", text, len(key))
		}
	})
}
