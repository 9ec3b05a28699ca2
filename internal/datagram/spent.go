package datagram

import (
	"cmp"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A Spent lists numbers that one start of a peer cannot use again: Judge takes a packet with one of them for Replayed, or for Malformed if the
// number is zero, as long as the start is remembered.
type Spent struct {
	From  protocol.Ident
	Start Start
	// Runs are from the first number to the last, in ascending order.
	Runs [][2]uint64
}

// Spent returns the spent numbers of the starts whose packets are replayed, at most so many starts, and runs of each. Those of the members of
// which most packets were replayed come first.
func (e *Endpoint) Spent(starts, runs int) []Spent {
	var ranks []protocol.Rank
	for r := range protocol.Rank(len(e.peers)) {
		if e.replays[r] > 0 {
			ranks = append(ranks, r)
		}
	}
	slices.SortStableFunc(ranks, func(a, b protocol.Rank) int { return cmp.Compare(e.replays[b], e.replays[a]) })
	var all []Spent
	for _, r := range ranks {
		p := &e.peers[r]
		if p.current.known {
			all = append(all, Spent{protocol.Ident{Rank: r, Inc: p.inc}, p.current.start, p.current.window.spent(runs)})
		}
		if p.lost.known {
			all = append(all, Spent{protocol.Ident{Rank: r}, p.lost.start, p.lost.window.spent(runs)})
		}
		if len(all) >= starts {
			return all[:starts]
		}
	}
	return all
}
