package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/agent/config"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at configuration files",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(configCheckCommand())
	return c
}

// checked is what config check says of a file that is in order.
type checked struct {
	File    string   `json:"file"`
	OK      bool     `json:"ok"`
	Errors  []string `json:"errors,omitempty"`
	Member  string   `json:"member,omitempty"`
	Council []string `json:"council,omitempty"`
	// Majority is how many members must be up.
	Majority int `json:"majority,omitempty"`
	// LeaseMillis is how long a dead leader is waited for at most, and GuardMillis how long before the end of its lease
	// a program is told.
	LeaseMillis float64 `json:"leaseMillis,omitempty"`
	GuardMillis float64 `json:"guardMillis,omitempty"`
	// RestartMillis is how long a member that was not stopped in good order waits before it votes.
	RestartMillis float64 `json:"restartMillis,omitempty"`
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
			return &failure{err}
		}
		if err := writeJSON(c, checked{File: path, Errors: strings.Split(err.Error(), "\n")}); err != nil {
			return err
		}
		return silently(exitFailed)
	}
	out := checked{File: path, OK: true, Member: f.Name, LeaseMillis: millis(r.Timing.Lease),
		GuardMillis: millis(r.Timing.Guard), RestartMillis: millis(max(r.Timing.Lease, r.Timing.LongestLease))}
	voters := 0
	for _, p := range r.Council {
		out.Council = append(out.Council, p.Name)
		if !p.Observer {
			voters++
		}
	}
	out.Majority = voters/2 + 1
	if asJSON {
		return writeJSON(c, out)
	}
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s is in order: member %s of a council of %d (%s)\n", path, f.Name, len(out.Council), strings.Join(out.Council, ", "))
	if n := len(out.Council) - voters; n > 0 {
		fmt.Fprintf(w, "  %d of %d members that vote must be up; observers, of which there are %d, do not count\n", out.Majority, voters, n)
	} else {
		fmt.Fprintf(w, "  %d of %d members must be up\n", out.Majority, voters)
	}
	fmt.Fprintf(w, "  a leader that dies is replaced after at most its lease of %v and a round trip of about %v\n", r.Timing.Lease, r.Timing.RoundTrip)
	fmt.Fprintf(w, "  a program that leads is told to stop %v before its lease ends\n", r.Timing.Guard)
	fmt.Fprintf(w, "  a member that was not stopped in good order waits %v before it votes\n", max(r.Timing.Lease, r.Timing.LongestLease))
	if voters%2 == 0 {
		fmt.Fprintf(w, "  note: %d members survive the loss of %d, and so do %d: an odd number is better\n", voters, (voters-1)/2, voters-1)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
