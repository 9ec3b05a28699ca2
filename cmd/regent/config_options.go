package main

import (
	"fmt"
	"slices"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/elector"
)

// countVotes works out how many votes must be up, and how many members may be down whichever they are.
func (o *checkReport) countVotes(r *regent.Config) {
	var votes []int
	for _, p := range r.Council {
		if p.Observer {
			continue
		}
		n := max(1, p.Votes)
		votes = append(votes, n)
		o.Votes += n
		o.weighted = o.weighted || n > 1
	}
	o.Majority = o.Votes/2 + 1
	if r.QuorumVotes > 0 {
		o.weighted = o.weighted || r.QuorumVotes != o.Majority
		o.Majority = r.QuorumVotes
	}
	slices.Sort(votes)
	for left := o.Votes; len(votes) > 0; o.spare++ {
		left -= votes[len(votes)-1]
		votes = votes[:len(votes)-1]
		if left < o.Majority {
			break
		}
	}
}

// unit names what Majority counts.
func (o *checkReport) unit() string {
	if o.weighted {
		return "votes"
	}
	return "members"
}

// options says what the options of local groups and electors mean.
func (o *checkReport) options(r *regent.Config) {
	say := func(format string, args ...any) { o.Options = append(o.Options, fmt.Sprintf(format, args...)) }
	if r.LocalMajority {
		say("local groups have a leader only where more than half of the %d members that may lead support it", o.Leaders)
	}
	if r.LocalTurns > 0 {
		say("local leaders hand over after %d renewals, if another member supports them", r.LocalTurns)
	}
	if r.LocalTree > 0 {
		say("requests and replies of local groups travel along a tree with %d children for each node", r.LocalTree)
	}
	if r.Calm > 0 {
		say("in local groups a member that led and fell silent counts again when it has been heard for %v without a break", r.Calm)
	}
	switch r.Elector {
	case elector.TimeFree, elector.FSource, elector.Hybrid:
	default:
		if r.ElectorFaults > 0 || r.ElectorPatience > 0 {
			say("elector_faults and elector_patience matter to eventual groups with the electors timefree, fsource and hybrid only")
			return
		}
	}
	if r.ElectorFaults > 0 {
		say("the elector replaces leaders while no more than %s down or unreachable (f)", areDead(r.ElectorFaults))
	}
	if r.ElectorPatience > 0 && r.Elector != elector.FSource {
		say("the elector suspects a member whose answers were late in %d rounds in a row (h)", r.ElectorPatience)
	}
}
