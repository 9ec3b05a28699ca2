package regent

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// A revoked member cannot answer. Without an id the others wait only if they are enough to name one that the council has.
func TestFoundingWithARevokedMemberIsRefused(t *testing.T) {
	for _, c := range []struct {
		members int
		revoked []int
		refused string
	}{{3, nil, ""}, {3, []int{2}, "c is revoked"}, {5, []int{4}, ""}, {5, []int{3, 4}, "d, e"}} {
		all := &council{self: 0}
		for r := range c.members {
			all.peers = append(all.peers, Peer{Name: string(rune('a' + r))})
		}
		for _, r := range c.revoked {
			all.peers[r].Revoked = true
		}
		err := all.foundable(protocol.Majority(c.members))
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%d members, %v are revoked: %v, want %q", c.members, c.revoked, err, c.refused)
		}
	}
}
