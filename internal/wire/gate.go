package wire

import (
	"encoding/binary"

	"github.com/regentproject/regent/internal/transport"
)

// Gate returns what the clear header of a packet for this member must be, so that a kernel can drop the rest under a flood: the length
// of a packet, the magic, a version, a key of the ring, the tag of the council, this member as receiver and another one as sender. Packets that a gate
// drops would be dropped by Open too, but Open also says why, which matters as long as they are few.
func (e *Endpoint) Gate() *transport.Filter {
	f := &transport.Filter{Shortest: overhead, Longest: e.mtu}
	f.Fields = append(f.Fields, transport.Field{Offset: offMagic, Size: offVersion - offMagic, Any: []uint32{uint32(magic0)<<8 | uint32(magic1)}},
		transport.Field{Offset: offVersion, Size: offLowest - offVersion, Below: uint32(e.highest) + 1},
		transport.Field{Offset: offTo, Size: offKey - offTo, Any: []uint32{uint32(e.Self().Rank)}},
		transport.Field{Offset: offFrom, Size: offTo - offFrom, Below: uint32(len(e.peers))})
	key := transport.Field{Offset: offKey, Size: len(KeyID{})}
	for i := range e.ring.keys {
		key.Any = append(key.Any, binary.BigEndian.Uint32(e.ring.keys[i].id[:]))
	}
	council := transport.Field{Offset: offCouncil, Size: len(CouncilTag{})}
	for _, tag := range e.derive.tags {
		council.Any = append(council.Any, binary.BigEndian.Uint32(tag[:]))
	}
	f.Fields = append(f.Fields, key, council)
	return f
}

// A key's id is compared as one number.
const _ = uint(len(KeyID{})-4) + uint(4-len(KeyID{}))
