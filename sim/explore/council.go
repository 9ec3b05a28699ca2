package explore

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// Council returns a council of three of which the last loses its vote when the exploration begins, for so many quarters of a lease.
// The first member wants to lead.
func Council(quarters int) Options {
	terms := council.Terms{Longest: Lease}
	first := &council.Config{Terms: terms}
	goal := council.Goal{Terms: terms}
	for r := range protocol.Rank(3) {
		first.Members = append(first.Members, council.Member{Seat: r, Name: r.String(), Birth: council.Birth{byte(r + 1)}, Role: council.Leader})
		if r < 2 {
			goal.Wishes = append(goal.Wishes, council.Wish{Name: r.String(), Role: council.Leader, Seat: protocol.Nobody})
		}
	}
	change := council.Change{Goal: &goal}
	o := Options{
		Members: 3,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			trip := Lease/2 - 10*time.Millisecond
			return members.New(members.Config{
				Council: council.Options{Name: b.Self.String(), First: first, RoundTrip: trip, Renew: Lease / 2, Dead: time.Hour, Quiet: time.Hour},
				Leases: func(*council.Config) nerio.Config {
					return nerio.Config{RoundTrip: trip, Lease: Lease, Renew: Lease / 2, Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc, Quorums: protocol.Majority(3)}
				},
			}, b.Record, b.Seed)
		},
		Group:      "g",
		Candidates: []protocol.Rank{0},
		Quorums:    protocol.Majority(3),
		Change:     protocol.Reconfigure{Record: change.Append(nil)},
		Quarter:    protocol.Time(Lease / 4),
		Quarters:   quarters,
	}
	return o
}
