package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at configuration files",
		Args:  cli.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(configCheckCommand())
	return c
}

// checkReport is what config check says of a file that is in order.
type checkReport struct {
	File   string   `json:"file"`
	OK     bool     `json:"ok"`
	Errors []string `json:"errors,omitempty"`
	// Warnings are about what is allowed and may not be meant.
	Warnings []string `json:"warnings,omitempty"`
	Member   string   `json:"member,omitempty"`
	Council  []string `json:"council,omitempty"`
	// Majority is how many members must be up, of Voters; Leaders of them may lead.
	Majority int `json:"majority,omitempty"`
	Voters   int `json:"voters,omitempty"`
	Leaders  int `json:"leaders,omitempty"`
	// FailOver is how long a group has no leader at most when its leader has died; it
	// is left out where nobody can replace it. Guard is how long before the end of its lease a program is told.
	Lease     time.Duration `json:"lease_ns,omitempty"`
	FailOver  time.Duration `json:"fail_over_ns,omitempty"`
	Guard     time.Duration `json:"guard_ns,omitempty"`
	RoundTrip time.Duration `json:"round_trip_ns,omitempty"`
	// Restart is how long a member that was not stopped in good order waits before it votes.
	Restart time.Duration `json:"restart_ns,omitempty"`
	// LocalLeader is within what time every part of the network has a local leader (κ), unless the file has calm.
	LocalLeader time.Duration `json:"local_leader_ns,omitempty"`
	// Drift is how far the rate of a clock may be off: within it there are never two leaders.
	Drift float64 `json:"drift,omitempty"`
}

func configCheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with a configuration file, and what follows from it",
		Long: `Reads a configuration as the agent would, with the files that it names, and says
everything that is wrong with it. Nothing is started and nobody is asked.

What must be the same on all members cannot be seen from one file: a running agent
compares itself with its peers, and 'regent members' names what differs.`,
		Example: `  regent config check
  regent config check ./regent.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := config.DefaultConfig
			if len(args) == 1 {
				path = args[0]
			}
			return checkConfig(c, path, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkConfig(c *cobra.Command, path string, asJSON bool) error {
	f, err := config.Load(path)
	var r regent.Config
	if err == nil {
		r, err = f.Regent()
	}
	if err != nil {
		if !asJSON {
			return &cli.Failure{Err: err}
		}
		if err := cli.WriteJSON(c, checkReport{File: path, Errors: strings.Split(err.Error(), "\n")}); err != nil {
			return err
		}
		return cli.Silently(cli.Failed)
	}
	out := derivedTimes(path, &r)
	if asJSON {
		return cli.WriteJSON(c, out)
	}
	out.print(c.OutOrStdout())
	return nil
}

// derivedTimes says what a configuration that is in order means.
func derivedTimes(path string, r *regent.Config) *checkReport {
	t := &r.Timing
	out := &checkReport{File: path, OK: true, Member: r.Name, Lease: t.Lease, Guard: t.Guard, RoundTrip: t.RoundTrip,
		Restart: t.Restart(), Drift: t.Drift}
	if r.Calm == 0 {
		out.LocalLeader = upToMillis(t.Kappa())
	}
	for _, p := range r.Council {
		out.Council = append(out.Council, p.Name)
		if !p.Observer {
			out.Voters++
		}
		if !p.Observer && !p.Witness {
			out.Leaders++
		}
	}
	out.Majority = out.Voters/2 + 1
	if r.Dir == "" && r.Bootstrap {
		out.Warnings = append(out.Warnings, disklessBootstrap)
	}
	if out.Voters > out.Majority && out.Leaders > 1 {
		out.FailOver = upToMillis(t.FailOver(out.Leaders))
	}
	return out
}

// disklessBootstrap warns of a council that forgets itself.
const disklessBootstrap = "dir is empty and bootstrap is true: if all members restart at once, the council begins anew, and tokens start again at 1 (set dir, or bootstrap: false once the council runs)"

func (o *checkReport) print(w io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	fmt.Fprintf(w, "%s is in order: member %s of a council of %d (%s)\n", o.File, o.Member, len(o.Council), strings.Join(o.Council, ", "))
	if n := len(o.Council) - o.Voters; n > 0 {
		say("%d of %d members that vote must be up; observers, of which there are %d, do not count", o.Majority, o.Voters, n)
	} else {
		say("%d of %d members must be up", o.Majority, o.Voters)
	}
	switch {
	case o.FailOver > 0:
		say("a leader that dies is replaced after about its lease of %v, and after at most %v:", o.Lease, o.FailOver)
		say("  if no more than %s dead, a program waits at another, no packet is lost or takes", areDead(o.Voters-o.Majority))
		say("  longer than %v, and nobody is paused", o.RoundTrip/2)
	case o.Leaders < 2:
		say("nobody replaces a leader that dies: %d of %d members may lead", o.Leaders, o.Voters)
	default:
		say("nobody replaces a leader that dies: %d of %d members must be up; with 3 that vote one may be lost", o.Majority, o.Voters)
	}
	say("leases never overlap while the rates of all clocks are within %v of real time;", o.Drift)
	say("  a program that is paused past the end of its own does not know it: check its token (docs/edicts.md)")
	say("a program that leads is told to stop %v before its lease ends", o.Guard)
	say("a member that was not stopped in good order waits %v before it votes", o.Restart)
	if o.LocalLeader > 0 {
		say("local groups have a leader in every part of the network within %v", o.LocalLeader)
	}
	for _, w := range o.Warnings {
		say("warning: %s", w)
	}
	if o.Voters%2 == 0 {
		say("note: %d members survive the loss of %d, and so do %d: an odd number is better", o.Voters, (o.Voters-1)/2, o.Voters-1)
	}
}

func areDead(n int) string {
	if n == 1 {
		return "1 member is"
	}
	return fmt.Sprintf("%d members are", n)
}

// upToMillis rounds up.
func upToMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
