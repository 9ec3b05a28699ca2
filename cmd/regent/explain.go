package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// An explanation is one change of leader, with what it means.
type explanation struct {
	changeRow
	// Means says what the cause means, Do what to look at.
	Means string `json:"means"`
	Do    string `json:"do,omitempty"`
	// Skips says why ToToken is far above FromToken, or above 1 in a new group; empty if it is not.
	Skips string `json:"skips,omitempty"`
	// Lengths says that programs here want leases of another length than the leader has. It is about the present, and of the last change only.
	Lengths string `json:"lengths,omitempty"`
}

func explainCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var limit int
	var f filter
	c := &cobra.Command{
		Use:   "explain GROUP",
		Short: "Explain the last changes of leader",
		Long: `Prints the last changes of leader of GROUP as the agent of this host saw them: which member
led until when, why its leadership ended, how long there was no leader, what to check if that
was not intended, and why tokens skip numbers. GROUP may be a pattern with * and ?: then it
explains the last changes of all groups together.

When a program gives a group up, all members see the same cause. Only the agent of that
program knows why it did so: run the command on that host.`,
		Example: `  regent explain billing
  regent explain billing --limit 5
  regent explain '*' --since 10m --limit 100`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit %d: must be at least 1", limit)
			}
			if err := f.resolve(args, time.Now()); err != nil {
				return err
			}
			cl := newClient(socket)
			h, err := readHistory(c.Context(), cl, f.one())
			if err != nil {
				return err
			}
			explained := explainChanges(h.Changes, &f, time.Now())
			explained = explained[max(0, len(explained)-limit):]
			var now api.GroupInfo
			if group := f.one(); group != "" && len(explained) > 0 && cl.get(c.Context(), groupPath(group, ""), &now) == nil { // a group that was forgotten has no program
				explained[len(explained)-1].Lengths = otherLengths(&now)
			}
			if asJSON {
				return cli.WriteJSON(c, explained)
			}
			for i := range explained {
				explained[i].print(c.OutOrStdout(), time.Now(), f.one() == "")
			}
			var members api.MemberList
			if cl.get(c.Context(), "/v1/members", &members) == nil {
				showDrained(c.OutOrStdout(), paintFor(c.OutOrStdout()), members.Members)
			}
			if len(explained) == 0 {
				fmt.Fprintf(c.OutOrStdout(), "no member has led %s in that time, as far as this agent knows\n", args[0])
			}
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 1, "how many changes to explain")
	f.sinceFlag(c)
	return c
}

// explainChanges explains the changes that the filter lets through, oldest first. Of a group without a leader the gap lasts until now.
func explainChanges(changes []api.Change, f *filter, now time.Time) []explanation {
	out := []explanation{}
	r := newHistory(&api.History{Changes: changes}, f)
	for i := range r.Changes {
		e := explanation{changeRow: r.Changes[i]}
		if e.To == "" {
			e.Gap = now.Sub(e.At)
		}
		e.explain()
		e.Skips = e.skips()
		out = append(out, e)
	}
	return out
}

// otherLengths says which programs here want leases of another length than the leader of the group has; empty: none does.
func otherLengths(g *api.GroupInfo) string {
	if g.Leader == "" || g.Lease == 0 {
		return ""
	}
	var wishes []string
	for i := range g.Candidates {
		if c := &g.Candidates[i]; c.Lease != g.Lease && c.State == "waiting" {
			wish := fmt.Sprintf("%s wants %v", programName(c), c.Lease)
			if !slices.Contains(wishes, wish) {
				wishes = append(wishes, wish)
			}
		}
	}
	if len(wishes) == 0 {
		return ""
	}
	return fmt.Sprintf("the group has the leases of its leader %s, %v; here %s, and gets that when it leads (give all programs of a group the same length)", g.Leader, g.Lease, strings.Join(wishes, ", "))
}

// programName names a program that takes part.
func programName(s *api.SessionInfo) string {
	if s.Program == "" {
		return fmt.Sprintf("process %d", s.Pid)
	}
	return s.Program
}

// print explains a change in a few lines. The group is named if there are several.
func (a *explanation) print(w io.Writer, now time.Time, named bool) {
	defer func() {
		if a.Lengths != "" {
			fmt.Fprintf(w, "  lease: %s\n", a.Lengths)
		}
	}()
	at := timeOfDay(a.At, now)
	if named {
		at += "  " + names.Label(a.Group)
	}
	switch {
	case a.Seen:
		fmt.Fprintf(w, "%s  %s leads%s, as first seen here: %s\n", at, a.To, a.with(" with token %d", a.ToToken), a.Means)
		return
	case a.first():
		fmt.Fprintf(w, "%s  %s began to lead%s: %s\n", at, a.To, a.with(" with token %d", a.ToToken), a.Means)
		a.printSkips(w)
		return
	case a.From == "" && a.To != "":
		fmt.Fprintf(w, "%s  %s led %s%s\n", at, a.To, later(a.Gap), a.with(" (token %d)", a.ToToken))
	case a.From == "":
		fmt.Fprintf(w, "%s  no leader since then, for %s\n", at, view.Span(a.Gap))
	case a.To == "":
		fmt.Fprintf(w, "%s  %s stopped leading%s, and no member has led since, for %s\n", at, a.From, a.with(" (token %d)", a.FromToken), view.Span(a.Gap))
	case a.From == a.To:
		fmt.Fprintf(w, "%s  %s stopped leading%s and led again %s%s\n", at, a.From, a.with(" (token %d)", a.FromToken), later(a.Gap), a.with(" (token %d)", a.ToToken))
	default:
		fmt.Fprintf(w, "%s  %s stopped leading%s, and %s led %s%s\n", at, a.From, a.with(" (token %d)", a.FromToken), a.To, later(a.Gap), a.with(" (token %d)", a.ToToken))
	}
	fmt.Fprintf(w, "  why:  %v: %s\n", a.Cause, a.Means)
	if a.Ended != "" && a.Ended != a.Means {
		fmt.Fprintf(w, "  here: %s\n", a.Ended)
	}
	if a.Do != "" {
		fmt.Fprintf(w, "  look: %s\n", a.Do)
	}
	a.printSkips(w)
}

func (a *explanation) printSkips(w io.Writer) {
	if a.Skips != "" {
		fmt.Fprintf(w, "  token: %s\n", a.Skips)
	}
}

// fewSkipped is how many tokens an ordinary change of leader may skip: candidates that get into each other's way use some.
const fewSkipped = 8

// skips explains tokens that were skipped.
func (a *explanation) skips() string {
	switch {
	case a.Seen || a.ToToken <= a.FromToken+fewSkipped:
		return ""
	case a.first():
		return fmt.Sprintf("%d and not 1: tokens only grow; leaders that this agent has not seen used some, and members that crashed or restarted skip some", a.ToToken)
	case a.FromToken == 0:
		return ""
	}
	return fmt.Sprintf("%d follows %d: tokens only grow; each failed attempt to lead uses one, and members that crashed or restarted skip some", a.ToToken, a.FromToken)
}

// first says whether nobody led before, as far as is known.
func (a *explanation) first() bool {
	return a.From == "" && a.To != "" && (a.Cause.Why == why.Elected || a.Cause.Why == why.Started || a.Cause.Why == why.Unexplained)
}

// with shows a token where there are any.
func (a *explanation) with(format string, token uint64) string {
	if !ledByPrograms(a.Mode) {
		return ""
	}
	return fmt.Sprintf(format, token)
}

// later says how much later something was.
func later(d time.Duration) string {
	if d < time.Millisecond {
		return "at once"
	}
	return view.Span(d) + " later"
}
