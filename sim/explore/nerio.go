package explore

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// Lease is how long leases are in explored councils.
const Lease = 200 * time.Millisecond

// Nerio returns the smallest council that can go wrong: three members of which the first two want to lead, for so many
// quarters of a lease.
func Nerio(quarters int) Options { return leases(quarters, Lease) }

// Lengths returns such a council in which the first member also leads a group with leases twice as long, and in which the
// second one wants those, and every member that campaigns again.
func Lengths(quarters int) Options {
	o := leases(quarters, 2*Lease)
	o.Length, o.Beside = 2*Lease, "beside"
	return o
}

// leases returns a council in which no lease is longer than longest.
func leases(quarters int, longest time.Duration) Options {
	return Options{
		Members: 3,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return nerio.New(nerio.Config{
				Me: b.Self, Quorums: protocol.Majority(b.Members),
				// A round trip is longer than a quarter, so that what is not answered at once is asked again two quarters later.
				RoundTrip: Lease/2 - 10*time.Millisecond, Lease: Lease, Longest: longest, Renew: Lease / 2,
				Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc,
			}, b.Record, b.Seed)
		},
		Group:      "g",
		Candidates: []protocol.Rank{0, 1},
		Quorums:    protocol.Majority(3),
		Quarter:    protocol.Time(Lease / 4),
		Quarters:   quarters,
	}
}
