package wire

import (
	"encoding/hex"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// A tag proves one life of one member of one council: with anything else in it, or under another key, it is another tag. The first one was
// computed by hand from docs/wire.md (Python's hmac).
func TestTagOfALifeIsOfNothingElse(t *testing.T) {
	key, council := [32]byte{1}, protocol.CouncilID{2}
	tag := LifeTags(key, council, "a")(7, protocol.StartBits{3})
	if got := hex.EncodeToString(tag[:]); got != "e2dd8b95d0a4ba7bfdafa8e309f6d9e7" {
		t.Errorf("the tag is %s", got)
	}
	for what, other := range map[string]protocol.Tag{
		"another key":         LifeTags([32]byte{9}, council, "a")(7, protocol.StartBits{3}),
		"another council":     LifeTags(key, protocol.CouncilID{9}, "a")(7, protocol.StartBits{3}),
		"another name":        LifeTags(key, council, "b")(7, protocol.StartBits{3}),
		"another incarnation": LifeTags(key, council, "a")(8, protocol.StartBits{3}),
		"a high incarnation":  LifeTags(key, council, "a")(7+1<<60, protocol.StartBits{3}),
		"another start":       LifeTags(key, council, "a")(7, protocol.StartBits{3, 15: 1}),
	} {
		if other == tag {
			t.Errorf("%s has the same tag", what)
		}
	}
}
