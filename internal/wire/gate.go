package wire

import (
	"encoding/binary"

	"github.com/regentproject/regent/internal/datagram"
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
	// mostValues is how many values a gate lists: a kernel's filter has 4,096 instructions.
	mostValues = 3500
)

// Gate returns what the clear header of a packet for this member must be, so that a kernel can drop the rest under a flood: the length
// of a packet, the magic, a version, a key of the ring, the tag of the council, this member as receiver and another one as sender.
//
// It lets in all packets that bear the mark of one of the next numbers of a start that this member has heard. Others of these starts have a chance: they are forged or
// recorded, or come from a peer of which many packets in a row were lost. So do those of other starts, a smaller one, for each costs a derivation: a member that restarts is
// heard soon. Founding packets have the same. Packets that a gate drops would be dropped by Open too, unless chance decides. Open also says why, which matters as long as
// they are few.
//
// The gate takes no more than room. In a council that is too large for that it knows fewer marks, then only the starts and no marks, and then neither: then it lets
// in all packets that look right.
func (e *Endpoint) Gate(c Chances, room int) *transport.Filter {
	council := transport.Field{Offset: offCouncil, Size: len(CouncilTag{})}
	for _, tag := range e.derive.tags {
		council.Any = append(council.Any, binary.BigEndian.Uint32(tag[:]))
	}
	f := &transport.Filter{Shortest: overhead, Longest: e.mtu, Or: e.foundingGate(c.Unknown), Fields: []transport.Field{
		{Offset: offMagic, Size: offVersion - offMagic, Any: []uint32{uint32(magic0)<<8 | uint32(magic1)}},
		{Offset: offVersion, Size: offLowest - offVersion, Below: uint32(e.highest) + 1},
		{Offset: offTo, Size: offKey - offTo, Any: []uint32{uint32(e.Self().Rank)}},
		{Offset: offFrom, Size: offTo - offFrom, Below: uint32(len(e.peers))},
		e.ringField(offKey), council}}
	if c.Known <= 1 && c.Unknown <= 1 {
		return f
	}
	starts := transport.Odds{Field: transport.Field{Offset: offNonce, Size: 4, Any: e.knownStarts()}}
	room -= f.Charge() + starts.Charge()
	if room < 0 || len(starts.Any) > mostValues {
		return f
	}
	f.Sample = c.Unknown
	if n := len(starts.Any); c.Known > 1 && n > 0 {
		ahead := min(mostAhead, min(transport.Values(room), mostValues-n)/n)
		if ahead >= fewestAhead {
			starts.OneIn = c.Known
			f.Odds = append(f.Odds, transport.Odds{Field: transport.Field{Offset: offMark, Size: markSize, Any: e.nextMarks(ahead)}})
		}
	}
	f.Odds = append(f.Odds, starts)
	return f
}

// nextMarks returns the marks of so many packets that come next from each start that was heard, under the keys that it has used last.
func (e *Endpoint) nextMarks(ahead int) (all []uint32) {
	for r := range e.peers {
		p := &e.peers[r]
		for _, c := range []*ciphers{&p.current, &p.lost} {
			start, top := e.Highest(protocol.Rank(r), c == &p.lost)
			if len(c.list) == 0 || start != c.start {
				continue
			}
			aead, m := c.list[len(c.list)-1].aead, marks{}
			for n := range uint64(ahead) {
				all = append(all, uint32(m.of(aead, top+1+n)))
			}
		}
	}
	return all
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

// knownStarts returns the first bits of the starts of all peers that were heard.
func (e *Endpoint) knownStarts() (all []uint32) {
	for i := range e.peers {
		for _, c := range []*ciphers{&e.peers[i].current, &e.peers[i].lost} {
			if c.start != (datagram.Start{}) {
				all = append(all, binary.BigEndian.Uint32(c.start[:]))
			}
		}
	}
	return all
}

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
