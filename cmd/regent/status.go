package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/plan"
	runner "github.com/regentproject/regent/agent/run"
)

// statusReport is all that status shows.
type statusReport struct {
	api.AgentStatus
	Members []regent.PeerStatus `json:"members,omitempty"`
	// Problems is what an operator should look at, worst first.
	Problems []string `json:"problems"`

	drawPauses bool
}

func statusCommand() *cobra.Command {
	var socket string
	var asJSON, pauses bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of this member and its links",
		Long: `Shows the state of the agent of this host and of its member: whether the member takes part,
how long its pauses were, which other members are slow or silent, the path and the proven
bound of each link, and all problems.

With --wait it first waits until the agent answers and its member votes, with enough others
for a quorum. Use this in a script that restarts one host after the other.

The exit status is 0 if there is no problem, and 1 otherwise.`,
		Example: `  regent status
  systemctl restart regent && regent status --wait 1m
  regent status --json | jq .problems`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := awaitVote(c.Context(), wait, func(ctx context.Context) (statusReport, error) { return askStatus(ctx, newClient(socket)) })
			if err != nil {
				return err
			}
			s.drawPauses = pauses
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
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&wait, "wait", 0, "wait for up to so long until the member votes")
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

func (s *statusReport) print(c *cobra.Command) {
	out := c.OutOrStdout()
	p := paintFor(out)
	state := p.good("takes part")
	switch {
	case s.Stopping:
		state = p.bad("is stopping")
	case !s.Joined:
		state = p.bad("does not take part yet")
	}
	fmt.Fprintf(out, "member %s %s; up for %s, incarnation %d, %s\n", p.bold(s.Name), state, ago(s.Started), s.Incarnation, or(s.Version))
	if s.CouncilID != "" {
		fmt.Fprintf(out, "council %s\n", s.CouncilID)
	}
	s.showCouncil(out, p)
	s.showEngine(out)
	showDrained(out, p, s.Members)
	t := &s.Timing
	fmt.Fprintf(out, "leads %s; %s connected; leases of programs last %v, renewed every %v, with a guard time of %v\n", cli.Count(s.Leading, "group"), cli.Count(s.Sessions, "program"), t.Lease, t.Renew, t.Guard)
	fmt.Fprintf(out, "a program that dies is replaced within about %v and its lost hooks, %s; pauses of up to %v cost nothing\n", runner.ReplacedWithin, replacedHost(t), config.Rounded(t.Tolerates))
	scheduling := "an ordinary thread: a busy host delays it (needs CAP_SYS_NICE)"
	if s.Realtime {
		scheduling = "a real-time thread"
	}
	fmt.Fprintf(out, "own pauses: median %s, 99 %% below %s, longest %s, of %d; %s\n", length(s.PauseMedian), length(s.PauseP99), length(s.PauseLongest), s.PauseCount, scheduling)
	if day := s.longestToday(time.Now()); day != "" {
		fmt.Fprintf(out, "%s; %s\n", s.survives(), p.verdict(s.PauseDay <= t.Survives, day))
	}
	fmt.Fprintf(out, "packets: %d in, %d out%s\n", s.PacketsIn, s.PacketsOut, dropped(s.Dropped))
	if s.drawPauses {
		fmt.Fprintln(out)
		plan.Draw(out, s.PauseBuckets, t.Survives, barWidth)
	}
	if len(s.Members) > 0 && s.Engine == nil {
		fmt.Fprintln(out)
		s.paths(c, p)
	}
	for i, problem := range s.Problems {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, p.bad("problem: ")+problem)
	}
}

// showCouncil shows the number of the council, a change that is running, and a list in the file that differs.
func (s *statusReport) showCouncil(out io.Writer, p palette) {
	c := s.Council
	if c == nil {
		return
	}
	settled := "settled"
	if !c.Settled {
		settled = "not settled"
	}
	fmt.Fprintf(out, "council number %d for %s, %s: %s tolerate %s\n", c.Number, ago(c.Since), settled, cli.Count(c.Voters, "voter"), cli.Count(c.Tolerates, "failure"))
	if c.Running() {
		fmt.Fprintf(out, "%s %s", p.bold("a change is running:"), c.Progress())
		if c.By != "" {
			fmt.Fprintf(out, " (asked for at %s %s ago)", c.By, ago(c.Asked))
		}
		fmt.Fprintln(out)
		for _, text := range c.Troubles() {
			fmt.Fprintf(out, "  %s\n", p.bad(text))
		}
	}
	if c.FileDiffers != "" {
		fmt.Fprintf(out, "%s (the file is for the first start: 'regent config sync' rewrites it)\n", c.FileDiffers)
	}
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

// replacedHost says how soon a host is replaced.
func replacedHost(t *api.TimingInfo) string {
	if t.FailOver == 0 {
		return "a host by no other"
	}
	return fmt.Sprintf("a host or agent within %v", upToMillis(t.FailOver))
}

// paths shows the ways to the other members.
func (s *statusReport) paths(c *cobra.Command, p palette) {
	var rows [][]string
	for i := range s.Members {
		m := &s.Members[i]
		if m.Self {
			continue
		}
		verdict := p.good("fast")
		switch {
		case !well(m):
			switch {
			case !m.Heard:
				verdict = p.bad("not heard")
			case m.Silent:
				verdict = p.bad("silent")
			case m.Deaf:
				verdict = p.bad("does not hear us")
			default:
				verdict = p.bad("does not count")
			}
		case s.slow(m) != "":
			verdict = p.bad("slow")
		case m.Bound == 0:
			verdict = "no bound yet"
		}
		bound := "-"
		if m.Bound > 0 {
			bound = "at most " + length(m.Bound)
		}
		heard := "never"
		if m.Heard {
			heard = length(max(m.Silence, time.Microsecond)) + " ago"
		}
		rows = append(rows, []string{p.bold(m.Name), address(m), heard, length(m.RoundTrip), bound, verdict})
	}
	table(c.OutOrStdout(), p, []string{"MEMBER", "PATH", "HEARD", "ROUND TRIP", "DELAY", ""}, rows)
}

// dropped shows what packets were dropped for.
func dropped(why map[string]uint64) string {
	var parts []string
	for reason, n := range why {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return "; dropped: " + strings.Join(parts, ", ")
}
