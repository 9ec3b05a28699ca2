package wire

import (
	"encoding/binary"
	"math"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
)

// Chances say how many packets that no gate can tell from forged ones there are for each that it lets in: of starts that this member has heard, and of others.
// 0 and 1: it lets all in.
type Chances struct{ Known, Unknown uint32 }

const (
	// mostAhead is how many packets of a start a gate knows the marks of, and fewestAhead how many it needs to know: a gate that falls behind its peers would drop
	// them.
	mostAhead   = 256
	fewestAhead = 16
	// mostValues is how many values a gate lists, starts and marks: a kernel's filter has 4,096 instructions.
	mostValues = 3500
)

// Gate returns what the clear header of a packet for this member must be, so that a kernel can drop the rest under a flood: the length
// of a packet, the magic, a version, a key of the ring, the tag of the council, this member as receiver and another one as sender.
//
// It lets in all packets that bear the mark of one of the next numbers of a start that this member has heard, under any keys that both may have. Others of these starts have a chance: they are forged or
// recorded, or come from a peer of which many packets in a row were lost. So do those of other starts, a smaller one, for each costs a derivation: a member that restarts is
// heard soon. Founding packets have the same. Reports of guardians have the header of packets and one mark for each start and combination of keys, which the gate knows, too. Packets that a gate drops would be dropped by Open too, unless chance decides, or they are introductions in a version
// that is not read, of which nothing counts. Open also says why, which matters as long as they are few.
//
// The gate takes no more than room. In a council that is too large for that it knows fewer marks, then only the starts and no marks, and then neither: then it lets
// in all packets that look right.
func (e *Endpoint) Gate(c Chances, room int) *transport.Filter {
	council := transport.Field{Offset: offCouncil, Size: len(CouncilTag{})}
	for _, tag := range e.derive.tags {
		council.Any = append(council.Any, binary.BigEndian.Uint32(tag[:]))
	}
	f := &transport.Filter{Shortest: overhead, Longest: e.mtu, Or: e.foundingGate(c.Unknown), Fields: []transport.Field{
		{Offset: offMagic, Size: offVersion - offMagic, Any: []uint32{uint32(magic0)<<8 | uint32(magic1), uint32(magic0)<<8 | deathMagic}},
		{Offset: offVersion, Size: offLowest - offVersion, Below: uint32(e.highest) + 1},
		{Offset: offTo, Size: offKey - offTo, Any: []uint32{uint32(e.Self().Rank)}},
		{Offset: offFrom, Size: offTo - offFrom, Below: uint32(len(e.peers))},
		e.ringField(offKey), council}}
	heard := e.heard()
	starts := transport.Odds{Field: transport.Field{Offset: offNonce, Size: 4}}
	lanes := 0
	for _, h := range heard {
		h.follows = math.MaxUint64
		starts.Any = append(starts.Any, binary.BigEndian.Uint32(h.start[:]))
		lanes += max(1, len(h.lanes))
	}
	room -= f.Charge() + starts.Charge()
	if c.Known <= 1 && c.Unknown <= 1 || room < 0 || len(starts.Any) > transport.MostListed {
		return f
	}
	f.Sample = c.Unknown
	if c.Known > 1 && len(heard) > 0 {
		// Beside those of the next numbers each lane has the mark of obituaries.
		ahead := min(mostAhead, min(transport.Values(room), transport.MostListed, mostValues-len(heard))/lanes-1)
		if ahead >= fewestAhead {
			starts.OneIn = c.Known
			f.Odds = append(f.Odds, transport.Odds{Field: transport.Field{Offset: offMark, Size: markSize, Any: e.nextMarks(heard, ahead)}})
		}
	}
	f.Odds = append(f.Odds, starts)
	return f
}

// A heardStart is a start that this member has heard, and by which it knows packets.
type heardStart struct {
	*ciphers
	of datagram.Header
	// top is the highest number that it has used, and lanes are all on which its next packets may come: which one its member takes depends on what that has heard and reloaded. There
	// are none of a start of which no number is remembered.
	top   uint64
	lanes []lane
}

// heard returns the starts of all peers. One that was heard under incarnation 0 and then under its own counts once: it has no more to say under the former.
func (e *Endpoint) heard() (all []heardStart) {
	for r := range e.peers {
		p := &e.peers[r]
		for _, c := range []*ciphers{&p.current, &p.lost} {
			if c.start == (datagram.Start{}) || c == &p.lost && c.start == p.current.start {
				continue
			}
			h := heardStart{ciphers: c, of: datagram.Header{From: protocol.Ident{Rank: protocol.Rank(r), Inc: c.inc}, Start: c.start}}
			start, top := e.Highest(h.of.From.Rank, c == &p.lost)
			if start == c.start {
				h.top, h.lanes = top, e.derive.pairs.lanesFrom(h.of.From.Rank)
			}
			all = append(all, h)
		}
	}
	return all
}

// nextMarks returns the marks of so many packets that come next on each lane of each start, and that of obituaries.
func (e *Endpoint) nextMarks(heard []heardStart, ahead int) (all []uint32) {
	for i := range heard {
		h := &heard[i]
		for _, l := range h.lanes {
			h.follows = h.top + uint64(ahead)/2
			c := h.find(&h.of, l)
			if c == nil {
				c = h.add(&h.of, &startCipher{lane: l, aead: e.derive.aead(h.of.From.Rank, l, &h.of)})
			}
			if !h.reported {
				key := e.derive.death(h.of.From.Rank, l, &h.of)
				all = append(all, obituary.Mark(&key))
			}
			m := marks{}
			for n := range uint64(ahead) {
				all = append(all, uint32(m.of(c.aead, h.top+1+n)))
			}
		}
	}
	return all
}

// Overtakes returns whether the sender of a packet that was heard is about to overtake the gate that was made last: that does not know its start, or half of the marks that it knows
// are used.
func (e *Endpoint) Overtakes(h *datagram.Header) bool {
	c := e.peers[h.From.Rank].ciphers(h.From.Inc)
	return c.start == h.Start && h.Seq > c.follows
}

// foundingGate is the gate of founding packets.
func (e *Endpoint) foundingGate(sample uint32) *transport.Filter {
	return &transport.Filter{Shortest: foundSize, Longest: foundSize, Sample: sample, Fields: []transport.Field{
		{Offset: offMagic, Size: 2, Any: []uint32{uint32(magic0)<<8 | foundMagic1}},
		{Offset: offFoundFrom, Size: offFoundTo - offFoundFrom, Below: uint32(len(e.peers))},
		{Offset: offFoundTo, Size: offFoundKey - offFoundTo, Any: []uint32{uint32(e.Self().Rank)}},
		e.ringField(offFoundKey)}}
}

// ringField is the field with the id of a key of the ring.
func (e *Endpoint) ringField(offset int) transport.Field {
	x := transport.Field{Offset: offset, Size: len(KeyID{})}
	for _, k := range e.derive.pairs.ring.keys {
		x.Any = append(x.Any, binary.BigEndian.Uint32(k.id[:]))
	}
	return x
}

// StartOffset is where the random bits of the sender's start stand in a packet, NumberOffset where its number does, and MarkOffset where the mark of that does.
const (
	StartOffset  = offNonce
	NumberOffset = offSeq
	MarkOffset   = offMark
)

// Knows returns whether a packet claims to be of a start that this member has heard.
func (e *Endpoint) Knows(h *datagram.Header) bool {
	if int(h.From.Rank) >= len(e.peers) {
		return false
	}
	c := e.peers[h.From.Rank].ciphers(h.From.Inc)
	return c.start != (datagram.Start{}) && c.start == h.Start
}

// A key's id is compared as one number.
const _ = uint(len(KeyID{})-4) + uint(4-len(KeyID{}))
