package wire

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// A holder of the keys of members may write any header and any payload, and seal them well. A fuzzer cannot seal: so its input is packets
// in clear, and the test seals them as the receiver will open them.

// clearPacket returns a packet in clear, without the tag. It names the keys of a packet to member 1.
func clearPacket(e *Endpoint, d *datagram.Header, payload []byte, change ...func(*header)) []byte {
	h := header{version: e.lowest, lowest: e.lowest, highest: e.highest, key: e.derive.pairs.ring.keys[0].id, council: e.derive.tags[0], keys: e.keysOf(1, lane{out: true})}
	for _, f := range change {
		f(&h)
	}
	return append(appendStamps(appendHeader(nil, &h, d), d), payload...)
}

// sealClear seals a packet in clear with the keys that its header names, as far as its receiver has them.
func sealClear(to *Endpoint, plain []byte) []byte {
	packet := append(slices.Clone(plain), make([]byte, max(0, offPayload-len(plain)))...)
	var h header
	var d datagram.Header
	parseHeader(packet, &h, &d)
	var aead cipher.AEAD
	addressed := to.Address(&d)
	if ring, ok := to.derive.pairs.ring.find(h.key); ok && h.keys.sender == (identity.ID{}) {
		aead = to.derive.introduction(ring, &d)
	} else if ok && addressed.Authentic() {
		if who, by, r := to.pairOf(ring, addressed, &h, &d); r == datagram.Accepted {
			aead = to.derive.aead(who, by, &d)
			binary.BigEndian.PutUint32(packet[offMark:], uint32(new(marks).of(aead, d.Seq)))
		}
	}
	if aead == nil {
		return append(packet, make([]byte, tagSize)...)
	}
	return aead.Seal(packet[:headerSize:headerSize], to.nonceOf(d.Seq), packet[headerSize:], packet[:headerSize])
}

// A talk is packets one after the other, each behind its length.
func talk(packets ...[]byte) (b []byte) {
	for _, p := range packets {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(p))), p...)
	}
	return b
}

// twoKeys gives all members a second key, but for the last one: it is revoked.
func twoKeys(c *PairsConfig) {
	c.Private = append(c.Private, private(c.Self, 1))
	for r := range c.Members {
		c.Members[r].Keys = append(c.Members[r].Keys, private(protocol.Rank(r), 1).Public())
	}
	c.Members[len(c.Members)-1].Keys = nil
}

// proof is a message that counts for another incarnation, too.
type proof struct{ Nonce uint64 }

func (*proof) Name() string             { return "test.Proof" }
func (p *proof) Copy() protocol.Message { c := *p; return &c }

var proofTable = newTable([]Type{{Number: 20, Message: (*note)(nil)}, {Number: 21, Message: (*hot)(nil)}, {Number: 22, Message: (*help)(nil), Recovery: true},
	{Number: 23, Message: (*proof)(nil), Proof: true}})

// Packets of holders of keys: each is taken whole or not at all, none twice, and the kernel's filter drops none that would be taken.
func FuzzSealed(f *testing.F) {
	quiet := func(c *Config) { c.Random = bytes.NewReader(make([]byte, len(datagram.Start{}))) }
	pairs := func(rank protocol.Rank) func(*Config) {
		p := pairsOf(f, rank, 3, ringOf(f, testKey), twoKeys)
		return func(c *Config) { quiet(c); c.Pairs, c.table = p, proofTable }
	}
	a, of := endpoint(f, 0, 5, pairs(0)), pairs(1)
	b := endpoint(f, 1, 9, of)
	for _, seed := range talks(f, a, b) {
		f.Add(talk(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		e := endpoint(t, 1, 9, of)
		now := protocol.Time(100)
		for range 8 {
			if len(input) < 2 {
				return
			}
			n := min(int(binary.BigEndian.Uint16(input)), len(input)-2)
			packet := sealClear(e, input[2:2+n])
			input = input[2+n:]
			now += 50 + protocol.Time(packet[offPath])*protocol.Time(time.Second) // so that the input says when it comes
			openOnce(t, e, now, packet, len(input) < 2)
		}
	})
}

// openOnce opens a packet twice, and checks what becomes of it. The state of the endpoint is compared after the last one only: that takes long.
func openOnce(t *testing.T, e *Endpoint, now protocol.Time, packet []byte, last bool) {
	t.Helper()
	passes := len(packet) > e.mtu || e.Gate(strict, roomy).Passes(packet) // ports drop longer ones before
	before := ""
	if last {
		before = state(e) // the gate has made ciphers for the packets that come next
	}
	var p Packet
	r := e.Open(now, bytes.Clone(packet), &p).Reason
	unread := r == datagram.Introduction && packet[offVersion] > e.highest // nothing of it counts
	if !passes && !r.Dropped() && !unread {
		t.Fatalf("the filter drops a packet that is %v", r)
	}
	switch r {
	case datagram.Accepted, datagram.OtherIncarnation, datagram.Rivals, datagram.Version, datagram.Stale, datagram.Twin:
	default:
		if last && state(e) != before {
			t.Fatalf("a packet that is %v changed the endpoint", r)
		}
	}
	said := slices.ContainsFunc(p.Messages, func(m Message) bool { return r != datagram.OtherIncarnation || m.Name() != "test.Proof" })
	if r != datagram.Accepted && said || len(p.Messages) > maxItems || e.pending > maxPending {
		t.Fatalf("a packet that is %v has %d messages, and %d bytes wait", r, len(p.Messages), e.pending)
	}
	if again := e.Open(now, bytes.Clone(packet), &p).Reason; again == datagram.Accepted {
		t.Fatalf("a packet that is %v is accepted the second time", r)
	}
}

// talks returns packets in clear that meet with every reason.
func talks(f *testing.F, a, b *Endpoint) (all [][][]byte) {
	head := func(seq uint64, change ...func(*datagram.Header)) *datagram.Header {
		d := stamped(a, b, seq)
		for _, f := range change {
			f(d)
		}
		return d
	}
	hello := payloadOf(f, a, &hot{Seq: 1}, &note{Text: "x", Lines: []line{{"g", 1}}}, &help{}, &proof{Nonce: 1})
	good := clearPacket(a, head(1), hello)
	one := func(change func(*datagram.Header), more ...func(*header)) {
		all = append(all, [][]byte{good, clearPacket(a, head(2, change), hello, more...), good})
	}
	same := func(*datagram.Header) {}
	for _, change := range []func(*datagram.Header){same,
		func(d *datagram.Header) { d.From.Inc = 6 }, func(d *datagram.Header) { d.From.Inc = 4 }, func(d *datagram.Header) { d.From.Inc = 0 },
		func(d *datagram.Header) { d.From.Inc = protocol.MaxInc + 1 }, func(d *datagram.Header) { d.Start[3]++ }, func(d *datagram.Header) { d.To.Inc++ },
		func(d *datagram.Header) { d.ToStart[1]++ }, func(d *datagram.Header) { d.Council.Digest[0]++ }, func(d *datagram.Header) { d.Council.Epoch++ }, func(d *datagram.Header) { d.Seq = 0 },
		func(d *datagram.Header) { d.From.Rank = 3 }, func(d *datagram.Header) { d.From.Rank = 1 }, func(d *datagram.Header) { d.From.Rank = 2 }, func(d *datagram.Header) { d.To.Rank = 2 },
		func(d *datagram.Header) { d.Echo.Sent = 140; d.From.Inc = 4 }, func(d *datagram.Header) { d.From.Inc = 0; d.Echo.Sent = 120 }} {
		one(change)
	}
	for _, change := range []func(*header){func(h *header) { h.version++ }, func(h *header) { h.lowest = h.highest + 1 }, func(h *header) { h.key[0]++ },
		func(h *header) { h.council[0]++ }, func(h *header) { h.keys.sender[0]++ }, func(h *header) { h.keys.receiver[0]++ },
		func(h *header) { h.keys = a.keysOf(1, lane{own: 1, theirs: 1, out: true}) }, func(h *header) { h.keys = memberKeys{} }} {
		one(same, change)
	}
	one(func(d *datagram.Header) { d.Council.Digest[0]++ }, func(h *header) { h.keys.sender[0]++ })
	one(func(d *datagram.Header) { d.From.Inc = 4 }, func(h *header) { h.keys = a.keysOf(1, lane{own: 1, out: true}) })
	summary, err := summaryOf("a").encode()
	if err != nil {
		f.Fatal(err)
	}
	introduction := appendItem(nil, itemSummary, 0, summary)
	for _, payload := range [][]byte{introduction, append(slices.Clone(introduction), 0), introduction[:9], appendItem(nil, itemSummary, 0, []byte{0xff})} {
		for epoch := range uint64(2) {
			all = append(all, [][]byte{clearPacket(a, head(1, func(d *datagram.Header) { d.Council.Digest[0] += byte(epoch) }), payload, func(h *header) { h.keys = memberKeys{} })})
		}
	}
	all = append(all, [][]byte{clearPacket(a, head(1, func(d *datagram.Header) { d.Council.Digest[0]++ }), introduction, func(h *header) { h.keys = memberKeys{}; h.version++ })})
	all = append(all, [][]byte{clearPacket(a, head(1, func(d *datagram.Header) { d.From.Rank = 2 }), introduction, func(h *header) { h.keys = memberKeys{} })})
	for _, payload := range [][]byte{{1, 0, 1, 0xff}, introduction, bytes.Repeat([]byte{15, 0, 0}, maxItems+1), appendItem(nil, 23, 0, []byte{0xff})} {
		for inc := range protocol.Inc(2) {
			all = append(all, [][]byte{clearPacket(a, head(1, func(d *datagram.Header) { d.To.Inc += inc }), payload)})
		}
	}
	return append(all, partTalks(f, a, head)...)
}

// partTalks returns packets with parts of messages: whole, twice, in contradiction, without meaning, too many, and too late.
func partTalks(f *testing.F, a *Endpoint, head func(uint64, ...func(*datagram.Header)) *datagram.Header) [][][]byte {
	var parts [][]byte
	whole := batchOf(f, a, &note{Data: make([]byte, 2500)})
	for payload, ok := whole.Next(); ok; payload, ok = whole.Next() {
		parts = append(parts, clearPacket(a, head(uint64(len(parts)+1)), payload))
	}
	again, other, late := bytes.Clone(parts[0]), bytes.Clone(parts[1]), bytes.Clone(parts[1])
	binary.BigEndian.PutUint64(again[offSeq:], 7)
	binary.BigEndian.PutUint64(other[headerSize:], 1001) // the stamp
	late[offPath] = 11
	var begun [][]byte
	for i := range uint64(maxAssemblies + 1) {
		begun = append(begun, clearPacket(a, head(i+1), appendItem(nil, itemFragment, 7, []byte{byte(i), 0, 2, 20, 1})))
	}
	half := func(part byte) []byte {
		return clearPacket(a, head(uint64(part)+1), appendItem(nil, itemFragment, 7, []byte{1, part, 2, 20, 0xff}))
	}
	restarted := clearPacket(a, head(9, func(d *datagram.Header) { d.From.Inc++ }), nil)
	return [][][]byte{parts, {parts[0], again}, {parts[0], other}, {parts[0], late}, {parts[0], restarted, parts[1]}, begun, {half(0), half(1)}}
}

// Founding packets of holders of keys: each means one thing, or nothing.
func FuzzFoundingSealed(f *testing.F) {
	b := NewFounding(pairsOf(f, 1, 3, ringOf(f, testKey), twoKeys))
	seal := func(plain []byte) []byte {
		packet := append(slices.Clone(plain), make([]byte, foundHeader+foundBody)...)[:foundHeader+foundBody]
		from := protocol.Rank(binary.BigEndian.Uint16(packet[offFoundFrom:]))
		if int(from) >= 3 || from == 1 {
			return append(packet, make([]byte, tagSize)...)
		}
		theirs, own := slices.Index(b.pairs.peers[from].ids, identity.ID(packet[offFoundMine:])), slices.Index(b.pairs.own, identity.ID(packet[offFoundYours:]))
		if theirs < 0 || own < 0 {
			return append(packet, make([]byte, tagSize)...)
		}
		return b.aead(from, lane{own: int8(own), theirs: int8(theirs)}).Seal(packet[:foundHeader:foundHeader], packet[offFoundNonce:foundHeader], packet[foundHeader:], packet[:foundHeader])
	}
	a := NewFounding(pairsOf(f, 0, 3, ringOf(f, testKey), twoKeys))
	for _, m := range []protocol.Message{&founding.Ask{Nonce: 1}, &founding.Tell{Nonce: 1, ID: testCouncil}, &founding.Tell{Nonce: 2, Begins: true}} {
		clear := append(a.Seal(1, m)[0][:foundHeader], foundingBody(m)...)
		for _, at := range []int{0, 2, offFoundFrom + 1, offFoundTo + 1, offFoundKey, offFoundMine, offFoundYours, foundHeader, foundHeader + 41, foundHeader + foundBody - 1} {
			for by := range byte(4) {
				changed := bytes.Clone(clear)
				changed[at] += by
				f.Add(changed)
			}
		}
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		packet := seal(plain)
		body := append(slices.Clone(plain), make([]byte, foundHeader+foundBody)...)[foundHeader : foundHeader+foundBody]
		from, m, r := b.Open(packet)
		if (m == nil) != (r != datagram.Accepted) {
			t.Fatalf("%v with %v", r, m)
		}
		if m != nil && (from != 0 && from != 2 || !bytes.Equal(foundingBody(m), body)) {
			t.Fatalf("%x of %v is taken for %+v", body, from, m)
		}
	})
}
