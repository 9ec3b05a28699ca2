package main

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func membersCommand() *cobra.Command {
	var socket string
	var asJSON bool
	c := &cobra.Command{
		Use:   "members",
		Short: "List and change the members of the council",
		Long: `Lists the members of the council in the order of preference, as the agent of this host sees
them: when each was heard last, the round trip to it, and its problem, such as another
configuration. The agent judges a link in both directions: a member that is heard and does
not hear this one has a problem, and so has one that does not take part yet. A drained or
unhealthy member votes and does not lead.

The exit status is 1 if the members without a problem have fewer votes than a quorum needs,
or if this member does not take part yet.

The other commands change the council while it runs. Members agree on each step, which
changes one vote at most, and any remaining member finishes the change. Leaders on hosts that
stay are not affected.`,
		Example: `  regent members
  regent members --json
  regent members add host4=10.0.0.4 --keys host4.pub
  regent members replace host3 host4=10.0.0.4 --keys host4.pub
  regent members remove host3
  regent members timing longest_lease=20s`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var list api.MemberList
			if err := newClient(socket).get(c.Context(), "/v1/members", &list); err != nil {
				return err
			}
			heard, need, votes := quorum(list.Members, list.QuorumVotes)
			if asJSON {
				if err := cli.WriteJSON(c, list); err != nil {
					return err
				}
			} else {
				showMembers(c, list.Members)
				showChange(c, socket)
			}
			switch {
			case heard >= need && list.Waiting == "":
				return nil
			case asJSON:
				return cli.Silently(cli.Failed)
			case list.Waiting != "":
				return cli.Failf("this member does not take part yet: %s", list.Waiting)
			}
			return cli.Failf("%s", tooFew(list.Members, heard, need, votes))
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(membersAddCommand(), membersRemoveCommand(), membersReplaceCommand(), membersSetCommand(), membersTimingCommand(), membersApplyCommand(), membersCancelCommand())
	return c
}

// address returns where packets to a member go.
func address(m *regent.PeerStatus) string {
	if !m.Addr.IsValid() {
		return or("")
	}
	return m.Addr.String()
}

// well says whether a member counts: it is heard, it hears this one, and it takes part.
func well(m *regent.PeerStatus) bool {
	return m.Self || m.Heard && linkProblem(m) == ""
}

// linkProblem says what is wrong with a member that was heard, and what to do; empty if nothing is.
func linkProblem(m *regent.PeerStatus) string {
	switch at := address(m); {
	case m.Problem != "":
		return m.Problem
	case m.Silent:
		return "silent for " + length(m.Silence) + ": is its agent running, and does UDP to and from " + at + " pass?"
	case m.Deaf:
		return m.Name + " does not hear us: it has confirmed nothing for " + length(m.Unconfirmed) + "; does UDP to " + at + " pass?"
	case m.Incarnation == 0:
		return "does not take part: it has no incarnation yet; 'regent status' there says what it waits for"
	}
	return ""
}

// quorum counts votes: how many the members that are well have, how many must be well, and how many there are. Most members have one.
// Configured is how many the agent says are needed; agents that do not send it need more than half.
func quorum(members []regent.PeerStatus, configured int) (heard, need, votes int) {
	for i := range members {
		n := votesOf(&members[i])
		votes += n
		if well(&members[i]) {
			heard += n
		}
	}
	return heard, cmp.Or(configured, votes/2+1), votes
}

// votesOf returns how many votes a member has. Agents that do not send it have members with one vote each.
func votesOf(m *regent.PeerStatus) int {
	if m.Role == observer {
		return 0
	}
	return max(1, m.Votes)
}

// tooFew says that the members that are well make no quorum.
func tooFew(members []regent.PeerStatus, heard, need, votes int) string {
	for i := range members {
		if votesOf(&members[i]) > 1 {
			return fmt.Sprintf("members with %d of %d votes are well, and %d votes are needed: no leader can be elected from here", heard, votes, need)
		}
	}
	return fmt.Sprintf("%d of %d members that vote are well, and %d are needed: no leader can be elected from here", heard, votes, need)
}

// observer is the role of a member without a vote.
const observer = "observer"

// showMembers prints members as a table.
func showMembers(c *cobra.Command, members []regent.PeerStatus) {
	out := c.OutOrStdout()
	p := paintFor(out)
	rows := make([][]string, len(members))
	for i := range members {
		m := &members[i]
		heard, state := "never", p.bad("not heard yet: is its agent running, and does UDP to "+address(m)+" pass?")
		switch {
		case m.Self:
			heard, state = "-", "this member"
		case m.Problem != "" && !m.Heard:
			state = p.bad(m.Problem)
		case m.Heard && linkProblem(m) != "":
			heard, state = length(m.Silence)+" ago", p.bad(linkProblem(m))
		case m.Heard:
			heard, state = length(m.Silence)+" ago", p.good("well")
		}
		if (m.Drained || m.Unhealthy) && state == p.good("well") {
			state = "votes"
			if m.Role == "observer" {
				state = "follows"
			}
		}
		if m.Role != "" {
			state = m.Role + ": " + state
		}
		switch {
		case m.Drained:
			state = p.bold("drained") + ", " + state
		case m.Unhealthy:
			state = p.bad("unhealthy") + ", " + state
		}
		incarnation := "-"
		if m.Incarnation > 0 {
			incarnation = strconv.FormatUint(uint64(m.Incarnation), 10)
		}
		rows[i] = []string{p.bold(m.Name), address(m), heard, length(m.RoundTrip), incarnation, state}
	}
	table(out, p, []string{"MEMBER", "ADDRESS", "HEARD", "ROUND TRIP", "INCARNATION", ""}, rows)
}
