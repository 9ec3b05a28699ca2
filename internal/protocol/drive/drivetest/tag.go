package drivetest

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/regentproject/regent/internal/protocol"
)

// Tags returns what computes the tags of a member's lives, from a secret that stands for its private key.
func Tags(secret uint64) func(protocol.Inc, protocol.StartBits) protocol.Tag {
	return func(inc protocol.Inc, start protocol.StartBits) protocol.Tag {
		b := binary.BigEndian.AppendUint64(nil, secret)
		b = binary.BigEndian.AppendUint64(b, uint64(inc))
		sum := sha256.Sum256(append(b, start[:]...))
		return protocol.Tag(sum[:])
	}
}
