package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// NerioSpec is what the checkers of quorum leases have to know about a run.
type NerioSpec struct {
	Quorums protocol.Quorums
	// Leaders may lead; empty: all.
	Leaders protocol.Set
	// Longest is longer than any promise stands.
	Longest time.Duration
	// Groups that every member wants to lead at all times, and the bound of N-EE on how long one may be without a lease.
	// Without groups N-EE is not checked.
	Groups []protocol.Group
	Bound  time.Duration
	// Seed and Travel are of the resource that edicts are sent to.
	Seed   uint64
	Travel sim.Delay
}

// Nerio returns the checkers of all that quorum leases promise. They share one ledger.
func Nerio(t Truth, s NerioSpec) []Checker {
	b := newBook(t)
	all := []Checker{
		newUnique(b, s.Quorums), newBacked(b, s.Quorums), newKeeps(b), &EdictValid{follower{book: b}}, newToken(b), newEdictOrder(b),
		NewResource(s.Seed, s.Travel), newStability(b, s.Longest), &Verified{follower: follower{book: b}}, NewRoles(s.Leaders),
	}
	if len(s.Groups) > 0 {
		all = append(all, newElected(b, s.Quorums, s.Leaders, s.Bound, s.Groups))
	}
	return all
}
