package lease

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// A class keeps the end that it had when one of its voters is lost. Another lease that the remaining voters back may not
// have that end: the lost one never backed it.
func TestAClassDoesNotLendAnEndThatALostVoterGaveIt(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	h := c.members[0].holder
	late := h.lengths[0].by[1].end
	for _, r := range []protocol.Rank{0, 2} {
		h.lengths[0].by[r].end = late.Add(50 * ms)
		h.extend(r)
	}
	h.lose(2, h.lengths[0])
	g := h.tenures["g"]
	if g.end() != late.Add(50*ms) || g.class.backers != protocol.NewSet(0, 1) {
		t.Fatalf("g until %v, backed by %v", g.end(), g.class.backers)
	}
	other := &tenure{group: "other", length: h.lengths[0], token: 1, until: protocol.Never}
	h.join(other, g.class.backers, 0)
	if other.end() != late {
		t.Errorf("until %v, want %v: for so long do two voters back it", other.end(), late)
	}
}
