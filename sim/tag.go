package sim

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/regentproject/regent/internal/protocol"
)

// tags returns what computes the tags of a member's lives in a world.
func tags(seed uint64, r protocol.Rank) func(protocol.Inc, protocol.StartBits) protocol.Tag {
	secret := binary.BigEndian.AppendUint64(nil, seed)
	secret = binary.BigEndian.AppendUint16(secret, uint16(r))
	return func(inc protocol.Inc, start protocol.StartBits) protocol.Tag {
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(secret[:len(secret):len(secret)], uint64(inc)), start[:]...))
		return protocol.Tag(sum[:])
	}
}
