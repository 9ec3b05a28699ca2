package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// LinkLimits is what links are held to.
type LinkLimits struct {
	// Tout is how long an end may stay up without hearing the other, by its own clock, and Tin how much longer without being heard.
	Tout, Tin time.Duration
	// Late is how late a timer may be.
	Late time.Duration
	// Settle is how long the links of a healed core may take to come up, and Patience how long a message on one of them may then
	// be on its way.
	Settle, Patience time.Duration
}

// NewLinks returns the checkers of all that links promise, for any machine that states what its links do. They need the records of
// messages.
func NewLinks(t Truth, l LinkLimits) []Checker {
	all := newLives(t).judge(NewSlack(), NewSequence(), NewSingle(t), NewInSession(t, l.Patience))
	return append(all, NewSevered(t, l.Tout, l.Tin, l.Late), NewConnected(t, l.Settle))
}

// histories follows the transitions of links. The history of a link is that of two incarnations: each other pair begins a new one.
type histories map[couple]*counts

// A couple is the two ends of a link, the better-ranked first.
type couple [2]protocol.Ident

// counts are the last transitions of both ends.
type counts [2]uint64

// ends returns how far the member of a record and its peer have come.
func (h histories) ends(r *sim.Record) (mine, other *uint64) {
	self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	key, i := couple{self, r.Peer}, 0
	if r.Peer.Rank < r.Node {
		key, i = couple{r.Peer, self}, 1
	}
	c := h[key]
	if c == nil {
		c = &counts{}
		h[key] = c
	}
	return &c[i], &c[1-i]
}

// restart takes the ends of a member down: it may come back as an incarnation that it has been before.
func (h histories) restart(r protocol.Rank) {
	for key, c := range h {
		for i := range key {
			if key[i].Rank == r {
				c[i] = 0
			}
		}
	}
}

// up says whether a count is that of a link that is up.
func up(count uint64) bool { return count%2 == 1 }

// way is a direction between two members.
func way(n int, from, to protocol.Rank) int { return int(from)*n + int(to) }
