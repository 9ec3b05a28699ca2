package wire

import (
	"encoding/binary"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// The clear header, which is the same in every version. All numbers are big endian.
const (
	offMagic       = 0  // 'R' 'm'
	offVersion     = 2  // of the sealed part
	offLowest      = 3  // version that the sender reads
	offHighest     = 4  // version that the sender reads
	offPath        = 5  // which of the receiver's addresses it was sent to
	offFrom        = 6  // sender's rank
	offTo          = 8  // receiver's rank
	offKey         = 10 // which key of the ring
	offCouncil     = 14 // tag of the council
	offSenderKey   = 18 // which of the sender's own keys
	offReceiverKey = 23 // which of the receiver's own keys
	offKnownKey    = 28 // the newest key of the receiver that the sender lists
	offFromInc     = 33 // sender's incarnation
	offToInc       = 41 // receiver's incarnation as the sender knows it
	offToStart     = 49 // the first random bits of the receiver's start, as the sender knows them
	offEpoch       = 57
	offDigest      = 65 // of the sender's configuration
	offNonce       = 73 // random bits of the sender's start
	offSeq         = 89
	offMark        = 97 // what only the sender and the receiver can know of the number
	headerSize     = 101
	stampsSize     = 24 // send stamp and echo: the first of what is sealed
	tagSize        = 16
	offPayload     = headerSize + stampsSize
	overhead       = headerSize + stampsSize + tagSize
	magic0         = 'R'
	magic1         = 'k'
	maxDatagram    = 65507 // what UDP over IPv4 can carry
)

// oldMagics are those of packets without a council, without keys of members and without marks, which no release has sent.
const oldMagics = "gnm"

// The versions of the sealed part that this build reads and writes.
const (
	LowestVersion  = 3
	HighestVersion = 3
)

// Overhead is the length of a packet with an empty payload.
const Overhead = overhead

// header is the clear header less what datagram.Header holds.
type header struct {
	version, lowest, highest, path uint8
	key                            KeyID
	council                        CouncilTag
	keys                           memberKeys
	mark                           mark
}

// memberKeys are the members' own keys that a packet names.
type memberKeys struct {
	// sender and receiver are those that it is sealed with. Both are zero in an introduction.
	sender, receiver identity.ID
	// known is the newest key of the receiver that the sender lists.
	known identity.ID
}

func appendHeader(b []byte, h *header, d *datagram.Header) []byte {
	b = append(b, magic0, magic1, h.version, h.lowest, h.highest, h.path)
	b = binary.BigEndian.AppendUint16(b, uint16(d.From.Rank))
	b = binary.BigEndian.AppendUint16(b, uint16(d.To.Rank))
	b = append(b, h.key[:]...)
	b = append(b, h.council[:]...)
	b = append(b, h.keys.sender[:]...)
	b = append(b, h.keys.receiver[:]...)
	b = append(b, h.keys.known[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(d.From.Inc))
	b = binary.BigEndian.AppendUint64(b, uint64(d.To.Inc))
	b = append(b, d.ToStart[:]...)
	b = binary.BigEndian.AppendUint64(b, d.Council.Epoch)
	b = append(b, d.Council.Digest[:]...)
	b = append(b, d.Start[:]...)
	b = binary.BigEndian.AppendUint64(b, d.Seq)
	return binary.BigEndian.AppendUint32(b, uint32(h.mark))
}

func appendStamps(b []byte, d *datagram.Header) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(d.Sent))
	b = binary.BigEndian.AppendUint64(b, uint64(d.Echo.Sent))
	return binary.BigEndian.AppendUint64(b, uint64(d.Echo.Received))
}

// parseHeader reads the clear header of a packet that is long enough to have one.
func parseHeader(b []byte, h *header, d *datagram.Header) {
	h.version, h.lowest, h.highest, h.path = b[offVersion], b[offLowest], b[offHighest], b[offPath]
	h.key, h.council = KeyID(b[offKey:]), CouncilTag(b[offCouncil:])
	h.keys = memberKeys{identity.ID(b[offSenderKey:]), identity.ID(b[offReceiverKey:]), identity.ID(b[offKnownKey:])}
	d.Start = datagram.Start(b[offNonce:])
	d.Council.Epoch = binary.BigEndian.Uint64(b[offEpoch:])
	d.Council.Digest = [8]byte(b[offDigest:])
	d.From = protocol.Ident{Rank: protocol.Rank(binary.BigEndian.Uint16(b[offFrom:])), Inc: protocol.Inc(binary.BigEndian.Uint64(b[offFromInc:]))}
	d.To.Rank = protocol.Rank(binary.BigEndian.Uint16(b[offTo:]))
	d.To.Inc = protocol.Inc(binary.BigEndian.Uint64(b[offToInc:]))
	d.ToStart = datagram.StartPrefix(b[offToStart:])
	d.Seq = binary.BigEndian.Uint64(b[offSeq:])
	h.mark = mark(binary.BigEndian.Uint32(b[offMark:]))
}

// parseStamps reads the first of what was sealed.
func parseStamps(b []byte, d *datagram.Header) {
	d.Sent = protocol.Time(binary.BigEndian.Uint64(b))
	d.Echo.Sent = protocol.Time(binary.BigEndian.Uint64(b[8:]))
	d.Echo.Received = protocol.Time(binary.BigEndian.Uint64(b[16:]))
}
