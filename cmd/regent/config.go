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
	runner "github.com/regentproject/regent/agent/run"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at configuration files, and rewrite what members have agreed on",
		Args:  cli.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(configCheckCommand(), configSyncCommand())
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
	// Engine elects in place of a council; empty: the council elects.
	Engine  string   `json:"engine,omitempty"`
	Council []string `json:"council,omitempty"`
	// Majority is how many votes the members must have that must be up, of Votes. Voters is how many members vote; Leaders of them may lead.
	Majority int    `json:"majority,omitempty"`
	Votes    int    `json:"votes,omitempty"`
	Voters   int    `json:"voters,omitempty"`
	Leaders  int    `json:"leaders,omitempty"`
	Profile  string `json:"profile,omitempty"`
	leaseReport
	// Leases are those of groups that leases names, by rule.
	Leases []leaseReport `json:"leases,omitempty"`
	// ReplacedWithin is how soon a program is replaced that dies, if all of its processes are proven gone, besides its lost hooks.
	ReplacedWithin time.Duration `json:"replaced_within_ns,omitempty"`
	Guard          time.Duration `json:"guard_ns,omitempty"`
	RoundTrip      time.Duration `json:"round_trip_ns,omitempty"`
	// Restart is how long a member that was not stopped in good order waits before it votes, if it keeps a record, and Longest how long one that has
	// lost its record does, or keeps none: Diskless says that this is such a member.
	Restart  time.Duration `json:"restart_ns,omitempty"`
	Longest  time.Duration `json:"longest_lease_ns,omitempty"`
	Diskless bool          `json:"diskless,omitempty"`
	// LocalLeader is within what time every part of the network has a local leader (κ).
	LocalLeader time.Duration `json:"local_leader_ns,omitempty"`
	// Options are what options of local groups, electors and votes mean, a sentence for each.
	Options []string `json:"options,omitempty"`
	// Drift is how far the rate of a clock may be off: within it there are never two leaders.
	Drift float64 `json:"drift,omitempty"`
	// weighted says that members have different votes, or that a quorum is more than a majority.
	weighted bool
	// spare is how many members may be down at once, whichever they are.
	spare int
}

// A leaseReport is what follows from the length of leases of programs.
type leaseReport struct {
	// Groups are those that the rule names; empty: all others.
	Groups []string      `json:"groups,omitempty"`
	Lease  time.Duration `json:"lease_ns,omitempty"`
	Renew  time.Duration `json:"renew_ns,omitempty"`
	// Tolerates is the longest pause that does not end such a lease.
	Tolerates time.Duration `json:"tolerates_ns,omitempty"`
	// FailOver is how long a group has no leader at most when the host of its leader has died; it
	// is left out where nobody can replace it.
	FailOver time.Duration `json:"fail_over_ns,omitempty"`
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
		Args: cli.Args,
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
	out := derivedTimes(path, f, &r)
	if asJSON {
		return cli.WriteJSON(c, out)
	}
	out.print(c.OutOrStdout())
	return nil
}

// derivedTimes says what a configuration that is in order means.
func derivedTimes(path string, f *config.File, r *regent.Config) *checkReport {
	t := &r.Timing
	out := &checkReport{File: path, OK: true, Member: r.Name, Profile: f.Profile, ReplacedWithin: runner.ReplacedWithin, Guard: t.Guard, RoundTrip: t.RoundTrip,
		Longest: t.LongestLease, Diskless: r.Dir == "", Drift: t.Drift}
	out.LocalLeader = upToMillis(r.Kappa())
	for _, p := range r.Council {
		out.Council = append(out.Council, p.Name)
	}
	out.Voters, out.Leaders = f.Votes()
	out.countVotes(r)
	out.options(r)
	out.leases(f, t)
	if f.Engine != nil {
		out.Engine, out.LocalLeader, out.Restart, out.Longest, out.Diskless = f.Engine.Kind, 0, 0, 0, false
		if r.Dir == "" {
			out.warn("dir is empty: the agent does not notice that the engine was changed, and tokens may begin again below those of before (set dir)")
		}
	}
	if r.Dir == "" && r.Bootstrap {
		out.Warnings = append(out.Warnings, disklessBootstrap)
	}
	return out
}

// leases says what follows from the lengths of leases.
func (o *checkReport) leases(f *config.File, t *regent.Timing) {
	length := f.ProgramLease()
	if ordinary := f.OrdinaryLease(); length == 0 && ordinary != 0 {
		if f.Realtime != nil && !*f.Realtime {
			length = ordinary
			o.warn("realtime is false: programs get leases of %v, and not the council's %v, which pauses of ordinary threads would end (allow realtime, or set lease)", ordinary, t.Lease)
		} else {
			o.warn("if the agent may not use real-time scheduling, programs get leases of %v, and not the council's %v (CAP_SYS_NICE permits it)", ordinary, t.Lease)
		}
	}
	o.leaseReport = o.lease(t.ForLease(length), nil)
	longest := o.Lease
	for _, rule := range f.Leases {
		o.Leases = append(o.Leases, o.lease(t.ForLease(rule.Lease), rule.Groups))
		longest = max(longest, rule.Lease)
	}
	if !o.Diskless {
		o.Restart = t.ForLease(longest).Restart()
	}
}

func (o *checkReport) warn(format string, args ...any) {
	o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...))
}

// lease says what follows from one length.
func (o *checkReport) lease(t regent.Timing, groups []string) leaseReport {
	out := leaseReport{Groups: groups, Lease: t.Lease, Renew: t.Renew, Tolerates: t.Tolerates()}
	if o.spare > 0 && o.Leaders > 1 {
		out.FailOver = upToMillis(t.FailOver(o.Leaders))
	}
	return out
}

// disklessBootstrap warns of a council that forgets itself.
const disklessBootstrap = "dir is empty and bootstrap is true: if all members restart, the council begins anew after that wait, and tokens start again at 1; resources that have seen higher tokens refuse the new leaders (set dir)"

// printCouncil prints who must be up.
func (o *checkReport) printCouncil(w io.Writer, say func(string, ...any)) {
	if len(o.Council) == 0 {
		fmt.Fprintf(w, "%s is in order: member %s joins a council that runs, once it is added there (regent members add)\n", o.File, o.Member)
		return
	}
	fmt.Fprintf(w, "%s is in order: member %s of a council of %d (%s)\n", o.File, o.Member, len(o.Council), strings.Join(o.Council, ", "))
	switch n := len(o.Council) - o.Voters; {
	case o.weighted:
		say("members with %d of %d votes must be up", o.Majority, o.Votes)
	case n > 0:
		say("%d of %d members that vote must be up; observers, of which there are %d, do not count", o.Majority, o.Voters, n)
	default:
		say("%d of %d members must be up", o.Majority, o.Voters)
	}
}

func (o *checkReport) print(w io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	if o.Engine != "" {
		o.printEngine(w, say)
		return
	}
	o.printCouncil(w, say)
	say("profile %s; leases of programs last %v, renewed every %v", o.Profile, o.Lease, o.Renew)
	switch {
	case o.FailOver > 0:
		say("a program that dies is replaced within about %v and its lost hooks, if its processes are proven gone", o.ReplacedWithin)
		say("a host or agent that dies is replaced after about its lease of %v, and after at most %v:", o.Lease, o.FailOver)
		say("  if no more than %s dead, a program waits at another, no packet is lost or takes", areDead(o.spare))
		say("  longer than %v, and nobody is paused", o.RoundTrip/2)
	case len(o.Council) == 0: // it is not known yet
	case o.Leaders < 2:
		say("nobody replaces a leader that dies: %d of %d members may lead", o.Leaders, o.Voters)
	default:
		say("nobody replaces a leader that dies: %d of %d %s must be up; with 3 that vote one may be lost", o.Majority, o.Votes, o.unit())
	}
	say("pauses of up to %v cost nothing: %s", config.Rounded(o.Tolerates), o.inequality(o))
	for i := range o.Leases {
		l := &o.Leases[i]
		say("groups %s: leases of %v, renewed every %v", strings.Join(l.Groups, ", "), l.Lease, l.Renew)
		say("  pauses of up to %v cost nothing: %s", config.Rounded(l.Tolerates), l.inequality(o))
	}
	o.printEnd(say)
	if o.Diskless {
		say("this member keeps no record (dir is empty): it waits %v after every start before it votes,", o.Longest)
		say("  also after a stop in good order (set dir; a council without records does not change while it runs, so a shorter timing.longest_lease takes a stop of all members)")
	} else {
		say("a member that was not stopped in good order waits %v before it votes, and one that has lost its record %v", o.Restart, o.Longest)
	}
	if o.LocalLeader > 0 {
		say("local groups have a leader in every part of the network within %v", o.LocalLeader)
	}
	for _, line := range o.Options {
		say("%s", line)
	}
	for _, w := range o.Warnings {
		say("warning: %s", w)
	}
	if o.Voters%2 == 0 && o.Voters > 0 && !o.weighted {
		say("note: %d members survive the loss of %d, and so do %d: an odd number is better", o.Voters, (o.Voters-1)/2, o.Voters-1)
	}
}

// printEnd prints what holds at the end of a lease.
func (o *checkReport) printEnd(say func(string, ...any)) {
	say("leases never overlap while the rates of all clocks are within %v of real time;", o.Drift)
	say("  a program that is paused past the end of its own does not know it: check its token (docs/edicts.md)")
	say("the agent asks a program that leads to stop %v before its lease ends", o.Guard)
}

// printEngine prints what holds on an engine. Whether it can be used with these lengths, it reports when the agent starts.
func (o *checkReport) printEngine(w io.Writer, say func(string, ...any)) {
	fmt.Fprintf(w, "%s is in order: member %s on the engine %s\n", o.File, o.Member, o.Engine)
	say("leases of programs last %v, renewed every %v", o.Lease, o.Renew)
	say("a host or agent that dies is replaced after its lease, and up to a renewal interval more")
	say("pauses of up to %v cost nothing: %s", config.Rounded(o.Tolerates), o.inequality(o))
	o.printEnd(say)
	for _, w := range o.Warnings {
		say("warning: %s", w)
	}
}

// inequality says what a lease must cover, with its numbers.
func (l *leaseReport) inequality(o *checkReport) string {
	return fmt.Sprintf("lease %v >= pause %v + renew %v + guard %v + round trip %v", l.Lease, config.Rounded(l.Tolerates), l.Renew, o.Guard, o.RoundTrip)
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
