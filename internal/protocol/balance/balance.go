// Package balance orders the members of a council anew for each group, so that groups spread over the members by themselves.
//
// The order is that of a weighted rendezvous hash (Thaler and Ravishankar; Schindelhauer and Schomaker for weights): each member
// draws a number from its seed and the name of the group, and the members with the highest numbers go first. Every member computes
// the same order without a word to the others. If a member leaves the order, that of the others stays as it is: its groups spread
// over all others, and no other group moves.
//
// A member of a higher class goes before all of lower ones. Priorities are classes: groups spread over the members that go first, and
// over the others only when those are gone.
//
// Nothing is unsafe if two members compute different orders: they only get into each other's way.
package balance

import (
	"hash/fnv"
	"math"

	"github.com/regentproject/regent/internal/protocol"
)

// A Share is what a member has in the order.
type Share struct {
	// Seed tells the member from others, whatever its rank: [Seed] makes it of its name.
	Seed uint64
	// Weight is how many times more groups go to the member than to one with weight 1; zero counts as 1.
	Weight int
	// Class is what the order looks at first: higher ones go before lower ones.
	Class int
}

// Seed returns the seed of a member with a name.
func Seed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// An Order has the shares of all members, by rank. Members that came later have shares by their ranks. Nil orders nothing.
type Order []Share

// share returns the share of a member.
func (o Order) share(r protocol.Rank) Share {
	if int(r) < len(o) {
		return o[r]
	}
	return Share{Seed: uint64(r)}
}

// score returns the number that a member draws for a group with this hash.
func (s *Share) score(group uint64) float64 {
	x := scramble(group ^ scramble(s.Seed))
	u := (float64(x>>11) + 0.5) / (1 << 53) // in (0, 1)
	return float64(max(1, s.Weight)) / -math.Log(u)
}

// scramble is the finaliser of splitmix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// before says whether one member goes before another in the group with this hash.
func (o Order) before(group uint64, a, b protocol.Rank) bool {
	s, t := o.share(a), o.share(b)
	if s.Class != t.Class {
		return s.Class > t.Class
	}
	x, y := s.score(group), t.score(group)
	return x > y || x == y && a < b
}

// First returns the member that goes first in a group, of some; Nobody if there is none.
func (o Order) First(g protocol.Group, among protocol.Set) protocol.Rank {
	first, hash := protocol.Nobody, Seed(string(g))
	for r := range among.All() {
		if first == protocol.Nobody || o.before(hash, r, first) {
			first = r
		}
	}
	return first
}

// Place returns how many of some members go before a member in a group.
func (o Order) Place(g protocol.Group, who protocol.Rank, among protocol.Set) int {
	n, hash := 0, Seed(string(g))
	for r := range among.All() {
		if r != who && o.before(hash, r, who) {
			n++
		}
	}
	return n
}
