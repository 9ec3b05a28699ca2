package main

import (
	"fmt"
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
	"github.com/regentproject/regent/internal/names"
)

const (
	// membersShown and programsShown are how many rows of long lists are on the screen: with a council of five members it has at most 24 lines.
	membersShown  = 6
	programsShown = 3
)

// print shows all on one screen.
func (s *statusReport) print(c *cobra.Command) {
	out := c.OutOrStdout()
	p := paintFor(out)
	for _, line := range s.screen(p, columnsOf(out)) {
		fmt.Fprintln(out, line)
	}
	if s.drawPauses {
		fmt.Fprintln(out)
		plan.Draw(out, s.PauseBuckets, s.Timing.Survives, barWidth)
	}
}

// screen returns the lines of a screen of a width: problems first. Of width 0 no line is wrapped, as for scripts.
func (s *statusReport) screen(p palette, width int) []string {
	var b strings.Builder
	state := p.good("takes part")
	switch {
	case s.Stopping:
		state = p.bad("is stopping")
	case !s.Joined:
		state = p.bad("does not take part yet")
	}
	fmt.Fprintf(&b, "member %s %s; up for %s, incarnation %d, %s\n", p.bold(s.Name), state, ago(s.Started), s.Incarnation, or(s.Version))
	for _, problem := range s.Problems {
		wrap(&b, p.bad("problem: ")+problem, width)
	}
	if s.CouncilID != "" {
		fmt.Fprintf(&b, "council %s\n", s.CouncilID)
	}
	s.showCouncil(&b, p)
	s.showEngine(&b)
	showDrained(&b, p, s.Members)
	if len(s.Members) > 1 && s.Engine == nil {
		s.links(&b, p)
	}
	s.programs(&b, p)
	s.lengths(&b, p, width)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// wrap writes a text in lines that fit the screen; those after the first are indented. A word that is too long stays whole.
func wrap(b *strings.Builder, text string, width int) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case width > 0 && visible(line)+1+visible(word) > width:
			fmt.Fprintln(b, line)
			line = "  " + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(b, line)
}

// showCouncil shows the number of the council, a change that is running, and a list in the file that differs.
func (s *statusReport) showCouncil(b *strings.Builder, p palette) {
	c := s.Council
	if c == nil {
		return
	}
	settled := "settled"
	if !c.Settled {
		settled = "not settled"
	}
	tolerate := "tolerate"
	if c.Voters == 1 {
		tolerate = "tolerates"
	}
	fmt.Fprintf(b, "council number %d for %s, %s: %s %s %s\n", c.Number, ago(c.Since), settled, cli.Count(c.Voters, "voter"), tolerate, cli.Count(c.Tolerates, "failure"))
	if c.Running() {
		by := ""
		if c.By != "" {
			by = fmt.Sprintf(" (asked for at %s %s ago)", c.By, ago(c.Asked))
		}
		fmt.Fprintf(b, "%s %s%s\n", p.bold("a change is running:"), c.Progress(), by)
		for _, text := range c.Troubles() {
			fmt.Fprintf(b, "  %s\n", p.bad(text))
		}
	}
	if c.FileDiffers != "" {
		fmt.Fprintf(b, "%s (the file is for the first start: 'regent config sync' rewrites it)\n", c.FileDiffers)
	}
}

// links shows the links to the other members, in both directions: those that are not well come first.
func (s *statusReport) links(b *strings.Builder, p palette) {
	var others []*regent.PeerStatus
	for i := range s.Members {
		if !s.Members[i].Self {
			others = append(others, &s.Members[i])
		}
	}
	rest := 0
	if len(others) > membersShown && !s.whole {
		slices.SortStableFunc(others, func(x, y *regent.PeerStatus) int { return boolRank(s.slow(x) == "") - boolRank(s.slow(y) == "") })
		rest = len(others) - membersShown
		others = others[:membersShown]
	}
	var rows [][]string
	for _, m := range others {
		rows = append(rows, s.link(m, p))
	}
	fmt.Fprintln(b)
	table(b, p, []string{"MEMBER", "LINK", "HEARD", "HEARS US", "ROUND TRIP", "DELAY", "PATH"}, rows)
	if rest > 0 {
		fmt.Fprintf(b, "and %d more: regent members\n", rest)
	}
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// link is the row of the link to a member.
func (s *statusReport) link(m *regent.PeerStatus, p palette) []string {
	verdict := p.good("fast")
	switch {
	case !well(m):
		switch {
		case !m.Heard:
			verdict = p.bad("not heard")
		case m.Silent:
			verdict = p.bad("silent")
		case m.Deaf:
			verdict = p.bad("one way")
		default:
			verdict = p.bad("does not count")
		}
	case s.slow(m) != "":
		verdict = p.bad("slow")
	case m.Bound == 0:
		verdict = "no bound yet"
	}
	heard, hears, bound := "never", "-", "-"
	if m.Heard {
		heard, hears = length(max(m.Silence, time.Microsecond))+" ago", "yes"
	}
	switch {
	case m.Silent:
		hears = "?"
	case m.Deaf:
		hears = p.bad("not for " + length(m.Unconfirmed))
	}
	if m.Bound > 0 {
		bound = "≤ " + length(m.Bound)
	}
	return []string{p.bold(m.Name), verdict, heard, hears, length(m.RoundTrip), bound, address(m)}
}

// waits orders programs that wait behind those that lead.
func waits(s *api.SessionInfo) int { return boolRank(s.State == "waiting") }

// programs shows the groups that programs here lead, with their leases, and how many programs wait.
func (s *statusReport) programs(b *strings.Builder, p palette) {
	fmt.Fprintf(b, "\nleads %s; %s connected", cli.Count(s.Leading, "group"), cli.Count(s.Sessions, "program"))
	shown := s.Programs
	if !s.whole {
		shown = slices.DeleteFunc(slices.Clone(shown), func(i api.SessionInfo) bool { return i.State == "waiting" })
	}
	if n := len(s.Programs) - len(shown); n > 0 {
		fmt.Fprintf(b, ", of which %d wait to lead", n)
	}
	fmt.Fprintln(b)
	rest := 0
	if len(shown) > programsShown && !s.whole {
		rest = len(shown) - programsShown
		shown = shown[:programsShown]
	}
	if len(shown) == 0 {
		return
	}
	var rows [][]string
	for i := range shown {
		x := &shown[i]
		left := "-"
		if x.Left > 0 {
			left = length(x.Left)
		}
		rows = append(rows, []string{p.bold(names.Label(x.Group)), x.State, tokenText(x.Token), left, length(x.Lease), timeOfDay(x.Since, time.Now()), names.Label(programName(x))})
	}
	table(b, p, []string{"GROUP", "PROGRAM", "TOKEN", "LEASE LEFT", "OF", "SINCE", ""}, rows)
	if rest > 0 {
		fmt.Fprintf(b, "and %d more: regent status --groups\n", rest)
	}
}

// lengths shows how long leases are, and what this host's pauses do to them.
func (s *statusReport) lengths(b *strings.Builder, p palette, width int) {
	t := &s.Timing
	fmt.Fprintf(b, "leases of programs last %v, renewed every %v, with a guard time of %v\n", t.Lease, t.Renew, t.Guard)
	fmt.Fprintf(b, "replaced: a program that dies within about %v, %s\n", runner.ReplacedWithin, replacedHost(t))
	if s.PauseCount == 0 { // there is no member yet whose pauses and thread these are
		fmt.Fprintf(b, "pauses of up to %v cost nothing\n", config.Rounded(t.Tolerates))
		return
	}
	fmt.Fprintf(b, "pauses of up to %v cost nothing; own: 99 %% below %s, longest %s\n", config.Rounded(t.Tolerates), length(s.PauseP99), length(s.PauseLongest))
	if !s.Realtime {
		fmt.Fprintln(b, "the member's thread is not real-time: a busy host delays it (needs CAP_SYS_NICE)")
	}
	if day := s.longestToday(time.Now()); day != "" {
		wrap(b, s.survives()+"; "+p.verdict(s.PauseDay <= t.Survives, day), width)
	}
	if s.whole || len(s.Dropped) > 0 {
		fmt.Fprintf(b, "packets: %d in, %d out%s\n", s.PacketsIn, s.PacketsOut, dropped(s.Dropped))
	}
}

// replacedHost says how soon a host is replaced.
func replacedHost(t *api.TimingInfo) string {
	if t.FailOver == 0 {
		return "a host by no other"
	}
	return fmt.Sprintf("a host or agent within %v", upToMillis(t.FailOver))
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
