package explore

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// Heirs returns a council of four of which the last two are lost for good. The first one is asked to give the council up when the exploration begins, for so
// many quarters of a lease; both that are left want to lead.
func Heirs(quarters int) Options {
	first := &council.Config{Terms: council.Terms{Longest: Lease}}
	for r := range protocol.Rank(4) {
		first.Members = append(first.Members, council.Member{Seat: r, Name: r.String(), Birth: council.Birth{byte(r + 1)}, Role: council.Leader})
	}
	give := council.Change{Recovery: &council.Recovery{ID: protocol.CouncilID{1}, Lost: []string{"c", "d"}, By: "a"}}
	return Options{
		Members: 4,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			trip := Lease/2 - 10
			return members.New(members.Config{
				Council: council.Options{Name: b.Self.String(), First: first, RoundTrip: trip, Renew: Lease / 2, Dead: 100 * Lease, Quiet: Lease, Patience: 100 * Lease, Mourn: Lease},
				Leases: func(*council.Config) nerio.Config {
					return nerio.Config{RoundTrip: trip, Lease: Lease, Renew: Lease / 2, Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc, Quorums: protocol.Majority(4)}
				},
			}, b.Record, b.Seed)
		},
		Group:      "g",
		Candidates: []protocol.Rank{0, 1},
		Quorums:    protocol.Majority(4),
		Change:     protocol.Reconfigure{Record: give.Append(nil)},
		Gone:       protocol.NewSet(2, 3),
		Realm: func(m protocol.Machine) (id protocol.CouncilID) {
			if c := m.(*members.Machine).Conf(); c != nil {
				id = c.Council
			}
			return id
		},
		Open: func(m protocol.Message) bool {
			switch m.(type) {
			case *council.Fetch, *council.Chosen:
				return true
			}
			return false
		},
		Quarter:  protocol.Time(Lease / 4),
		Quarters: quarters,
	}
}

// survived checks C-HEIR: a council of survivors is in force nowhere before all of them have agreed.
func (b *invariants) survived(me protocol.Ident, f *protocol.Fact) error {
	switch conf, _ := f.Detail.(*council.Config); {
	case f.Ev == protocol.EvVote && f.Why == "heir":
		b.stopped.Add(me.Rank)
		b.agreed.Add(me.Rank)
	case f.Ev == protocol.EvVote && f.Why == "taken back":
		b.stopped.Remove(me.Rank)
		b.agreed.Remove(me.Rank)
	case conf == nil || conf.Parent() == nil || f.Ev == protocol.EvVote:
	default:
		b.heir = true
		if f.Ev == protocol.EvAdopt {
			b.stopped.Remove(me.Rank)
		}
		if present := conf.Present(); !b.agreed.Contains(present) {
			return fmt.Errorf("C-HEIR violated: %v states %s of the council of %v, and only %v have agreed", me, f.Ev, present, b.agreed)
		}
	}
	return nil
}
