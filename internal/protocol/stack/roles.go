package stack

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
)

// Roles says who may do what in a council. Most members vote and may lead. Electors know nothing of it: they run among the
// voters, and members that may not lead are passed over.
//
// Its parts go where they belong: Quorums and Leaders into the configuration of the authority (nerio.Config), Voters as the
// number of members into that of the elector; Leaders as candidates and a majority of Voters as a gate where an elector has
// room for them (stable.Config).
type Roles struct {
	// Members is how many there are, observers included.
	Members int
	// Observers is how many of them have no vote. They are the last in rank order. They learn who leads, count in no quorum,
	// run no elector, and nobody waits for them.
	Observers int
	// Witnesses vote but never lead.
	Witnesses protocol.Set
}

// Check says what is wrong with the roles.
func (r *Roles) Check() error {
	voters := protocol.Everyone(max(0, r.Members-r.Observers))
	switch {
	case r.Members < 1 || r.Members > protocol.MaxMembers:
		return fmt.Errorf("stack: %d members: must be between 1 and %d", r.Members, protocol.MaxMembers)
	case r.Observers < 0 || r.Observers >= r.Members:
		return fmt.Errorf("stack: %d observers of %d members: at least one member must vote", r.Observers, r.Members)
	case !voters.Contains(r.Witnesses):
		return fmt.Errorf("stack: witnesses %v: must be among the %d that vote; observers are no witnesses", r.Witnesses, r.Voters())
	case r.Witnesses == voters:
		return fmt.Errorf("stack: all %d voters are witnesses: at least one must be able to lead", r.Voters())
	}
	return nil
}

// Voters is how many members vote: the first in rank order.
func (r *Roles) Voters() int { return r.Members - r.Observers }

// Votes says whether a member has a vote.
func (r *Roles) Votes(who protocol.Rank) bool { return int(who) < r.Voters() }

// Leaders are the members that may lead.
func (r *Roles) Leaders() protocol.Set { return protocol.Everyone(r.Voters()).Minus(r.Witnesses) }

// Quorums is the quorum system of the whole council: any majority of the voters.
func (r *Roles) Quorums() protocol.Quorums {
	return protocol.MajorityOf(r.Members, protocol.Everyone(r.Voters()))
}
