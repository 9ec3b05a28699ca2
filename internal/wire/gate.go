package wire

import (
	"encoding/binary"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/transport"
)

// Gate returns what the clear header of a packet for this member must be, so that a kernel can drop the rest under a flood: the length
// of a packet, the magic, a version, a key of the ring, the tag of the council, this member as receiver and another one as sender. Of
// packets from starts that this member has not heard it lets in one of sample, by chance: a sender that copies a header costs no more
// than that, and a member that restarts is heard soon. Founding packets pass by the same chance. It drops recorded packets whose number
// was used, as far as it has room for them. Packets that a gate
// drops would be dropped by Open too, but Open also says why, which matters as long as they are few.
func (e *Endpoint) Gate(sample uint32) *transport.Filter {
	council := transport.Field{Offset: offCouncil, Size: len(CouncilTag{})}
	for _, tag := range e.derive.tags {
		council.Any = append(council.Any, binary.BigEndian.Uint32(tag[:]))
	}
	f := &transport.Filter{Shortest: overhead, Longest: e.mtu, Sample: sample, Known: e.knownStarts(), Except: e.spent(), Or: e.foundingGate(sample), Fields: []transport.Field{
		{Offset: offMagic, Size: offVersion - offMagic, Any: []uint32{uint32(magic0)<<8 | uint32(magic1)}},
		{Offset: offVersion, Size: offLowest - offVersion, Below: uint32(e.highest) + 1},
		{Offset: offTo, Size: offKey - offTo, Any: []uint32{uint32(e.Self().Rank)}},
		{Offset: offFrom, Size: offTo - offFrom, Below: uint32(len(e.peers))},
		e.ringField(offKey), council}}
	f.Fit()
	return f
}

// maxSpent and maxRuns bound what a gate knows of recorded packets: of how many starts, and how many runs of numbers of each.
const (
	maxSpent = 4
	maxRuns  = 16
)

// spent returns the headers of recorded packets that were seen before. Introductions have numbers of their own, so the packets must name a
// key of their sender. Numbers are compared by their lower half, for the upper half of the latest ones.
func (e *Endpoint) spent() (rows [][]transport.Field) {
	for _, s := range e.Spent(maxSpent, maxRuns) {
		high := s.Runs[len(s.Runs)-1][1] >> 32
		keys, low := transport.Field{Offset: offSenderKey, Size: 4}, transport.Field{Offset: offSeq + 4, Size: 4}
		for _, id := range e.Listed(s.From.Rank) {
			if v := binary.BigEndian.Uint32(id[:]); v != 0 {
				keys.Any = append(keys.Any, v)
			}
		}
		for _, run := range s.Runs {
			if run[1]>>32 == high {
				low.Within = append(low.Within, [2]uint32{uint32(max(run[0], high<<32)), uint32(run[1])})
			}
		}
		row := []transport.Field{low, keys, {Offset: offFrom, Size: 2, Any: []uint32{uint32(s.From.Rank)}}, word(offSeq, uint32(high)),
			word(offFromInc, uint32(s.From.Inc>>32)), word(offFromInc+4, uint32(s.From.Inc))}
		for i := 0; i < len(s.Start); i += 4 {
			row = append(row, word(offNonce+i, binary.BigEndian.Uint32(s.Start[i:])))
		}
		rows = append(rows, row)
	}
	return rows
}

// word is a field of four bytes with one value.
func word(offset int, v uint32) transport.Field {
	return transport.Field{Offset: offset, Size: 4, Any: []uint32{v}}
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

// StartOffset is where the random bits of the sender's start stand in a packet, and NumberOffset where its number does.
const (
	StartOffset  = offNonce
	NumberOffset = offSeq
)

// knownStarts is the field with the first bits of the starts of all peers that were heard.
func (e *Endpoint) knownStarts() *transport.Field {
	x := &transport.Field{Offset: StartOffset, Size: 4}
	for i := range e.peers {
		for _, c := range []*ciphers{&e.peers[i].current, &e.peers[i].lost} {
			if c.start != (datagram.Start{}) {
				x.Any = append(x.Any, binary.BigEndian.Uint32(c.start[:]))
			}
		}
	}
	return x
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
