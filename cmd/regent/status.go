package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/plan"
)

// statusReport is all that status shows.
type statusReport struct {
	api.AgentStatus
	Members []regent.PeerStatus `json:"members,omitempty"`
	// Programs take part through this agent: those that lead, then those that wait, by group.
	Programs []api.SessionInfo `json:"programs,omitempty"`
	// Problems is what an operator should look at, worst first.
	Problems []string `json:"problems"`

	drawPauses bool
	// whole says that long lists are shown whole.
	whole bool
}

func statusCommand() *cobra.Command {
	var socket string
	var asJSON, pauses, whole bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of this member and its links",
		Long: `Shows the state of this host on one screen: problems first, then the council, a change that is
running, drained hosts, the link to each other member in both directions (HEARD: when this member heard
it last; HEARS US: whether it confirms what this member sends), the groups that programs here
lead with the time that is left of their leases, and which pauses the leases survive. Long
lists are cut; --groups shows them whole, and counts packets.

With --wait it first waits until the agent answers and its member votes, with enough others
for a quorum. Use this in a script that restarts one host after the other.

The exit status is 0 if there is no problem, 1 if there is one, 2 for wrong usage, and 3 if the
agent is unreachable.`,
		Example: `  regent status
  regent status --groups
  systemctl restart regent && regent status --wait 1m
  regent status --json | jq .problems`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := awaitVote(c.Context(), wait, func(ctx context.Context) (statusReport, error) { return askStatus(ctx, newClient(socket)) })
			if err != nil {
				return err
			}
			s.drawPauses, s.whole = pauses, whole
			if asJSON {
				if err := cli.WriteJSON(c, s); err != nil {
					return err
				}
			} else {
				s.print(c)
			}
			if len(s.Problems) > 0 {
				return cli.Silently(cli.Failed)
			}
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&wait, "wait", 0, "wait for up to so long until the member votes")
	c.Flags().BoolVar(&whole, "groups", false, "show all groups that programs here lead or wait for, and all members")
	c.Flags().BoolVar(&pauses, "pauses", false, "draw how many pauses of each length there were, against what leases survive")
	return c
}

// askStatus asks an agent how it is, and judges that.
func askStatus(ctx context.Context, cl *client) (s statusReport, err error) {
	if err := cl.get(ctx, "/v1/status", &s.AgentStatus); err != nil {
		return s, err
	}
	var list api.MemberList
	if err := cl.get(ctx, "/v1/members", &list); err != nil && s.Joined {
		return s, err
	}
	s.Members = list.Members
	var programs api.SessionList
	if err := cl.get(ctx, "/v1/sessions", &programs); err != nil {
		return s, err
	}
	s.Programs = programs.Sessions
	slices.SortStableFunc(s.Programs, func(x, y api.SessionInfo) int {
		return cmp.Or(cmp.Compare(waits(&x), waits(&y)), strings.Compare(x.Group, y.Group))
	})
	s.Problems = s.findProblems()
	return s, nil
}

// statusInterval is how long to wait before an agent is asked again.
const statusInterval = 100 * time.Millisecond

// awaitVote asks until the member votes, but not for longer than it may. It returns the last answer. An agent that is not there yet is waited for.
func awaitVote(ctx context.Context, within time.Duration, ask func(context.Context) (statusReport, error)) (statusReport, error) {
	for end := time.Now().Add(within); ; {
		s, err := ask(ctx)
		if err == nil && s.votes() || time.Now().After(end) {
			return s, err
		}
		select {
		case <-time.After(statusInterval):
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}

// votes says that the member takes part, waits for nothing that it promised before, and hears a quorum.
func (s *statusReport) votes() bool {
	heard, need, _ := quorum(s.Members, s.QuorumVotes)
	return s.Joined && !s.Stopping && s.Waiting == "" && heard >= need
}

// findProblems says what is wrong, worst first.
func (s *statusReport) findProblems() []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Waiting != "" {
		say("the member does not take part: %s", s.Waiting)
	}
	if s.Council != nil && s.Council.Warning() != "" {
		say("%s", s.Council.Warning())
	}
	if s.ClockFault {
		say("%s", api.ClockAdvice)
	}
	if s.Disk != "" {
		say("the durable record cannot be written: %s", s.Disk)
	}
	if s.Accused != "" {
		advice := ": stop other processes and copies of this member; if there are none, that member lies or its disk is damaged"
		if strings.HasSuffix(s.Accused, "restart the member)") { // it says itself what to do
			advice = ""
		}
		say("%s%s", s.Accused, advice)
	}
	if heard, need, votes := quorum(s.Members, s.QuorumVotes); votes > 0 && heard < need {
		say("%s", tooFew(s.Members, heard, need, votes))
	}
	if others := slices.DeleteFunc(slices.Clone(s.Members), func(m regent.PeerStatus) bool { return m.Self }); len(others) > 0 &&
		!slices.ContainsFunc(others, func(m regent.PeerStatus) bool { return m.Heard }) {
		say("no other member was heard: does council in their files list this member, %s, at its address?", s.Name)
	}
	for i := range s.Programs {
		p := &s.Programs[i]
		for _, a := range slices.Sorted(maps.Keys(p.Duplicates)) {
			say("another host, with the hardware address %s, has %s of %s as well: find it, and take the address away from it", p.Duplicates[a], a, p.Group)
		}
	}
	for _, host := range s.Unlisted {
		say("%s has the cluster key and is not in this member's council: add it to all files, or stop its agent", host)
	}
	for i := range s.Members {
		if why := s.slow(&s.Members[i]); why != "" {
			say("%s", why)
		}
	}
	for i := range s.Members {
		if m := &s.Members[i]; m.KeyProblem != "" && !m.Revoked {
			say("%s %s", m.Name, m.KeyProblem)
		}
	}
	if spare := s.Timing.Survives; s.PauseP99 > spare {
		say("this member's own pauses (99 %% below %s) cost it its leases, which survive %s: give it a processor, or a longer lease", length(s.PauseP99), length(spare))
	}
	return out
}

// slow says what is wrong with a member, and on which path.
func (s *statusReport) slow(m *regent.PeerStatus) string {
	switch path := address(m); {
	case m.Self:
	case m.Problem != "":
		return fmt.Sprintf("%s (%s): %s", m.Name, path, m.Problem)
	case !m.Heard:
		return fmt.Sprintf("%s (%s): not heard yet: is its agent running, and does UDP pass?", m.Name, path)
	case linkProblem(m) != "":
		return fmt.Sprintf("%s (%s): %s", m.Name, path, linkProblem(m))
	case m.RoundTrip > s.Timing.RoundTrip:
		return fmt.Sprintf("%s is slow: a round trip by way of %s takes %s, above the %s that the timing counts on", m.Name, path, length(m.RoundTrip), length(s.Timing.RoundTrip))
	case m.Bound > s.Timing.Delay:
		return fmt.Sprintf("%s is slow: its last packet, by way of %s, took up to %s, above %s", m.Name, path, length(m.Bound), s.Timing.Delay)
	}
	return ""
}

// survives says which pauses end no lease of a program here.
func (s *statusReport) survives() string {
	if t := &s.Timing; t.ShortestLease != 0 {
		return fmt.Sprintf("leases survive pauses of %s, as the shortest of a program here is %v", plan.Length(t.Survives), t.ShortestLease)
	}
	return "leases survive pauses of " + plan.Length(s.Timing.Survives)
}

// longestToday says when the longest pause of the last 24 hours was; empty if there was none.
func (s *statusReport) longestToday(now time.Time) string {
	if s.PauseDay == 0 {
		return ""
	}
	at := s.PauseDayAt.In(now.Location())
	if at.YearDay() == now.YearDay() {
		return fmt.Sprintf("the longest today was %s, at %s", plan.Length(s.PauseDay), at.Format("15:04"))
	}
	return fmt.Sprintf("the longest in 24 h was %s, yesterday at %s", plan.Length(s.PauseDay), at.Format("15:04"))
}
