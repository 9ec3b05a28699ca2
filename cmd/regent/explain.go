package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/why"
)

// An explanation is one change of leader, with all that followed from it.
type explanation struct {
	// Mode is that of the group. Only quorum groups have tokens.
	Mode regent.Mode `json:"mode"`
	// From led with FromToken until At; empty if nobody did. To led next; empty if nobody does yet.
	From      string       `json:"from,omitempty"`
	FromToken uint64       `json:"from_token,omitempty"`
	To        string       `json:"to,omitempty"`
	ToToken   uint64       `json:"to_token,omitempty"`
	At        time.Time    `json:"at"`
	Cause     regent.Cause `json:"cause"`
	// Gap is how long nobody led, as this member saw it.
	Gap time.Duration `json:"gap_ns"`
	// Means says what the cause means, Do what to look at.
	Means string `json:"means"`
	Do    string `json:"do,omitempty"`
	// Skips says why ToToken is far above FromToken; empty if it is not.
	Skips string `json:"skips,omitempty"`
	// Seen says that To led already when this member first saw it, at At.
	Seen bool `json:"first_seen,omitempty"`
	// Ended is how it ended, if a program of the asked agent led: that one knows more than the cause says.
	Ended string `json:"ended,omitempty"`
	// Lengths says that programs here want leases of another length than the leader has. It is about the present, and of the last change only.
	Lengths string `json:"lengths,omitempty"`
}

func explainCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use:   "explain GROUP",
		Short: "Explain the last changes of leader",
		Long: `Prints the last changes of leader of GROUP as the agent of this host saw them: which member
led until when, why its leadership ended, how long there was no leader, what to check if that
was not intended, and why a token is far above the one before it.

When a program gives a group up, all members see the same cause. Only the agent of that
program knows why it did so: run the command on that host.`,
		Example: `  regent explain billing
  regent explain billing --limit 5`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit %d: must be at least 1", limit)
			}
			cl := newClient(socket)
			h, err := readHistory(c, cl, args[0], 1000)
			if err != nil {
				return err
			}
			explained := explainChanges(h.Changes)
			explained = explained[max(0, len(explained)-limit):]
			var now api.GroupInfo
			if len(explained) > 0 && newClient(socket).get(c.Context(), groupPath(args[0], ""), &now) == nil { // a group that was forgotten has no program
				explained[len(explained)-1].Lengths = otherLengths(&now)
			}
			if asJSON {
				return cli.WriteJSON(c, explained)
			}
			for i := range explained {
				explained[i].print(c.OutOrStdout())
			}
			var members api.MemberList
			if cl.get(c.Context(), "/v1/members", &members) == nil {
				showDrained(c.OutOrStdout(), paintFor(c.OutOrStdout()), members.Members)
			}
			if len(explained) == 0 {
				fmt.Fprintf(c.OutOrStdout(), "nobody has led %s since the agent was started\n", args[0])
			}
			return nil
		},
	}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 1, "how many changes to explain")
	return c
}

// explainChanges makes accounts of the changes of one group: each from the end of one leadership, or the lack of one, to the
// beginning of the next.
func explainChanges(changes []api.Change) []explanation {
	var out []explanation
	var open *explanation
	var leader string
	var token uint64
	for i := range changes {
		ch := &changes[i]
		if ch.Leader == leader && ch.Token == token {
			if open == nil && ch.Stopping {
				// That it was asked to stop is the beginning of the end, and says why.
				open = &explanation{Mode: ch.Mode, From: leader, FromToken: token, At: ch.At, Cause: ch.Cause}
			}
			continue
		}
		switch {
		case open == nil:
			open = &explanation{Mode: ch.Mode, From: leader, FromToken: token, At: ch.At, Cause: ch.Cause}
		case open.Cause.Why == why.Unexplained || open.Cause.Why == why.Started:
			open.Cause = ch.Cause
		}
		if ch.Leader == "" && leader != "" {
			open.At = ch.At
		}
		if ch.Ended != "" {
			open.Ended = ch.Ended
		}
		leader, token = ch.Leader, ch.Token
		if ch.Leader != "" {
			open.Seen = i == 0 && !ch.Mine
			open.To, open.ToToken, open.Gap = ch.Leader, ch.Token, ch.At.Sub(open.At)
			out = append(out, *open)
			open = nil
		}
	}
	if open != nil && leader == "" {
		open.Gap = time.Since(open.At)
		out = append(out, *open)
	}
	for i := range out {
		out[i].explain()
		out[i].Skips = out[i].skips()
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

func (a *explanation) print(w io.Writer) {
	defer func() {
		if a.Lengths != "" {
			fmt.Fprintf(w, "  lease: %s\n", a.Lengths)
		}
	}()
	at := a.At.Format("2006-01-02 15:04:05.000")
	switch {
	case a.Seen:
		fmt.Fprintf(w, "%s leads%s since before this member saw it; first seen at %s\n", a.To, a.with(" with token %d", a.ToToken), at)
		return
	case a.first():
		fmt.Fprintf(w, "%s  %s began to lead%s: %s\n", at, a.To, a.with(" with token %d", a.ToToken), a.Means)
		return
	case a.From == "":
		fmt.Fprintf(w, "%s  nobody leads yet\n", at)
	case a.To == "":
		fmt.Fprintf(w, "%s  %s stopped leading%s, and nobody has led since, for %s\n", at, a.From, a.with(" (token %d)", a.FromToken), length(a.Gap))
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
	if a.Skips != "" {
		fmt.Fprintf(w, "  token: %s\n", a.Skips)
	}
}

// fewSkipped is how many tokens an ordinary change of leader may skip: candidates that get into each other's way use some.
const fewSkipped = 8

// skips explains tokens that were skipped.
func (a *explanation) skips() string {
	if a.FromToken == 0 || a.ToToken <= a.FromToken+fewSkipped {
		return ""
	}
	return fmt.Sprintf("%d follows %d: tokens only grow; each failed attempt to lead uses one, and members that crashed or restarted skip some", a.ToToken, a.FromToken)
}

// first says whether nobody led before, as far as is known.
func (a *explanation) first() bool { return a.From == "" && a.To != "" }

// with shows a token where there are any.
func (a *explanation) with(format string, token uint64) string {
	if !ledByPrograms(a.Mode) {
		return ""
	}
	return fmt.Sprintf(format, token)
}

// later says how much later something was.
func later(d time.Duration) string {
	if d <= 0 {
		return "at once"
	}
	return length(d) + " later"
}
