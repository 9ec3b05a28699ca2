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
	// Votes are how many votes each member has, in rank order; nil is one for each voter. Observers have none.
	Votes []int
	// Need is how many votes make a quorum; zero is more than half of all.
	Need int
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
	case r.Votes != nil && len(r.Votes) != r.Members:
		return fmt.Errorf("stack: votes of %d members: must be of all %d", len(r.Votes), r.Members)
	}
	for i, n := range r.Votes {
		if (n > 0) != r.Has(protocol.Rank(i)) {
			return fmt.Errorf("stack: %d votes of %v: a voter has at least one, an observer none", n, protocol.Rank(i))
		}
	}
	_, err := r.system(r.Members)
	return err
}

// Total is how many votes there are.
func (r *Roles) Total() int {
	if r.Votes == nil {
		return r.Voters()
	}
	total := 0
	for _, n := range r.Votes {
		total += n
	}
	return total
}

// system returns the quorum system of the first so many members, all voters among them.
func (r *Roles) system(members int) (protocol.Quorums, error) {
	if r.Votes == nil && r.Need == 0 {
		return protocol.MajorityOf(members, protocol.Everyone(r.Voters())), nil
	}
	weight := make([]int, members)
	for i := range r.Voters() {
		weight[i] = 1
		if r.Votes != nil {
			weight[i] = r.Votes[i]
		}
	}
	return protocol.Weighted(weight, r.Needed())
}

// Needed is how many votes make a quorum.
func (r *Roles) Needed() int {
	if r.Need == 0 {
		return r.Total()/2 + 1
	}
	return r.Need
}

func (r *Roles) mustSystem(members int) protocol.Quorums {
	q, err := r.system(members)
	if err != nil {
		panic(err) // Check has refused that
	}
	return q
}

// Voters is how many members vote: the first in rank order.
func (r *Roles) Voters() int { return r.Members - r.Observers }

// Has says whether a member has a vote.
func (r *Roles) Has(who protocol.Rank) bool { return int(who) < r.Voters() }

// Leaders are the members that may lead.
func (r *Roles) Leaders() protocol.Set { return protocol.Everyone(r.Voters()).Minus(r.Witnesses) }

// Quorums is the quorum system of the whole council: any majority of the votes, unless Need says otherwise.
func (r *Roles) Quorums() protocol.Quorums { return r.mustSystem(r.Members) }

// Gate is the same system among the voters alone, for electors.
func (r *Roles) Gate() protocol.Quorums { return r.mustSystem(r.Voters()) }
