package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/agent"
	"github.com/regentproject/regent/why"
)

// An account is one change of leader, told to its end.
type account struct {
	// From led with FromToken until At; empty if nobody did. To led next; empty if nobody does yet.
	From      string       `json:"from,omitempty"`
	FromToken uint64       `json:"from_token,omitempty"`
	To        string       `json:"to,omitempty"`
	ToToken   uint64       `json:"to_token,omitempty"`
	At        time.Time    `json:"at"`
	Cause     regent.Cause `json:"cause"`
	// Gap is how long nobody led, as this member saw it, in nanoseconds.
	Gap time.Duration `json:"gap"`
	// Means says what the cause means, Do what to look at.
	Means string `json:"means"`
	Do    string `json:"do,omitempty"`
}

func explainCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use:   "explain GROUP",
		Short: "Say why leadership changed",
		Long: `Tells the last changes of leader of GROUP as the agent of this host saw them: who led
until when, why that ended, how long nobody led, and what to look at if that was not
intended.`,
		Example: `  regent explain billing
  regent explain billing --limit 5`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit %d: must be at least 1", limit)
			}
			h, err := readHistory(c, newClient(socket), args[0], 1000)
			if err != nil {
				return err
			}
			told := tell(h.Changes)
			told = told[max(0, len(told)-limit):]
			if asJSON {
				return writeJSON(c, told)
			}
			for i := range told {
				told[i].print(c.OutOrStdout())
			}
			if len(told) == 0 {
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

// tell makes accounts of the changes of one group: each from the end of one leadership, or the lack of one, to the
// beginning of the next.
func tell(changes []agent.Change) []account {
	var out []account
	var open *account
	var leader string
	var token uint64
	for i := range changes {
		ch := &changes[i]
		if ch.Leader == leader && ch.Token == token {
			if open == nil && ch.Stopping {
				// That it was asked to stop is the beginning of the end, and says why.
				open = &account{From: leader, FromToken: token, At: ch.Time, Cause: ch.Cause}
			}
			continue
		}
		switch {
		case open == nil:
			open = &account{From: leader, FromToken: token, At: ch.Time, Cause: ch.Cause}
		case open.Cause.Why == why.Unexplained || open.Cause.Why == why.Started:
			open.Cause = ch.Cause
		}
		if ch.Leader == "" && leader != "" {
			open.At = ch.Time
		}
		leader, token = ch.Leader, ch.Token
		if ch.Leader != "" {
			open.To, open.ToToken, open.Gap = ch.Leader, ch.Token, ch.Time.Sub(open.At)
			out = append(out, *open)
			open = nil
		}
	}
	if open != nil && leader == "" {
		open.Gap = time.Since(open.At)
		out = append(out, *open)
	}
	for i := range out {
		out[i].Means, out[i].Do = meaning(out[i].Cause)
	}
	return out
}

func (a *account) print(w io.Writer) {
	at := a.At.Format("2006-01-02 15:04:05.000")
	switch {
	case a.From == "" && a.To != "":
		fmt.Fprintf(w, "%s  %s began to lead with token %d: nobody had led before, as far as this member knows\n", at, a.To, a.ToToken)
		return
	case a.From == "":
		fmt.Fprintf(w, "%s  nobody leads yet\n", at)
	case a.To == "":
		fmt.Fprintf(w, "%s  %s stopped leading (token %d), and nobody has led since, for %s\n", at, a.From, a.FromToken, length(a.Gap))
	case a.From == a.To:
		fmt.Fprintf(w, "%s  %s stopped leading (token %d) and led again %s later (token %d)\n", at, a.From, a.FromToken, length(a.Gap), a.ToToken)
	default:
		fmt.Fprintf(w, "%s  %s stopped leading (token %d), and %s led %s later (token %d)\n", at, a.From, a.FromToken, a.To, length(a.Gap), a.ToToken)
	}
	fmt.Fprintf(w, "  why:  %v: %s\n", a.Cause, a.Means)
	if a.Do != "" {
		fmt.Fprintf(w, "  look: %s\n", a.Do)
	}
}

// meaning says what a cause means, and what to look at if it was not intended.
func meaning(c regent.Cause) (means, do string) {
	m := c.Member
	if m == "" {
		m = "a member"
	}
	switch c.Why {
	case why.Elected:
		return m + " was elected, and the end of the leadership before was not seen from here", "the history at the member that led before"
	case why.Suspected:
		return m + " was not heard for too long", "whether " + m + " runs, and whether UDP between it and the others passes: regent members"
	case why.LeaseExpired:
		return "the lease of " + m + " was not renewed in time: it died, was paused, or was cut off from a majority",
			"the log of " + m + " at that time; pauses and slow paths: regent status there"
	case why.Resigned:
		return "the program at " + m + " ended or stopped, or somebody said 'regent resign'", ""
	case why.Transferred:
		return "the group was handed over to " + m, ""
	case why.SlowLink:
		return fmt.Sprintf("packets of %s may have taken as long as %v, which is too long to build on", m, c.Bound), "the network between the members: regent status"
	case why.NoQuorum:
		return "too few members answered", "how many members run and hear one another: regent members, on both sides"
	case why.Restarted:
		return m + " was restarted", "why it was: its log"
	case why.ClockFault:
		return "the clock of " + m + " stopped, jumped, or runs at another rate than those of the others", "the clock and the hypervisor of " + m
	case why.Unhealthy:
		return "the program at " + m + " was found not to be well", "its health check, or why it was silent"
	case why.Closed:
		return "the agent of " + m + " was stopped in good order", ""
	case why.Merged, why.Returned:
		return m + ", which goes before others, came back", ""
	case why.Doubted, why.NoAccess:
		return "members disagree about who can lead: links between them are bad", "the network between the members: regent status"
	}
	return "nothing more is known here", "the history and the log of the member that led"
}
