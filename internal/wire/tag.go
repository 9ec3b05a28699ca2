package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/regentproject/regent/internal/protocol"
)

// labelLife begins what the tag of a life is computed over.
const labelLife = "regent life 1"

// LifeTags returns what computes the tags of a member's lives: HMAC-SHA256 under a key that only the member has, cut to 16 bytes.
func LifeTags(key [32]byte, council protocol.CouncilID, name string) func(protocol.Inc, protocol.StartBits) protocol.Tag {
	prefix := append([]byte(labelLife), council[:]...)
	prefix = append(binary.AppendUvarint(prefix, uint64(len(name))), name...)
	return func(inc protocol.Inc, start protocol.StartBits) protocol.Tag {
		mac := hmac.New(sha256.New, key[:])
		mac.Write(prefix)
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(inc)))
		mac.Write(start[:])
		return protocol.Tag(mac.Sum(nil))
	}
}
