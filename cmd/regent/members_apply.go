package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/roster"
)

func membersSetCommand() *cobra.Command {
	var o changeOptions
	c := &cobra.Command{
		Use:   "set MEMBER [KEY=VALUE ...]",
		Short: "Change the address, priority, weight, role or public key of a member",
		Long: `Changes what the council says of a member. The keys are address (several with commas between them),
priority, weight, which counts in a balanced council, and role, which is voter, witness or
observer. --keys gives the member the public keys in a file, as 'regent keys exchange' prints
them there: then no other key of it counts. 'regent keys rotate' does that without a gap.` + changeStatus,
		Example: `  regent members set host1 priority=10
  regent members set host2 address=10.0.0.22:7400
  regent members set host3 role=witness
  regent members set host3 --keys host3.pub`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && len(o.keys) == 0 {
				return fmt.Errorf("missing MEMBER or KEY=VALUE (usage: %s)", c.UseLine())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var now api.CouncilInfo
			if err := newClient(o.socket).get(c.Context(), "/v1/council", &now); err != nil {
				return err
			}
			at := slices.IndexFunc(now.Members, func(m roster.Member) bool { return m.Name == args[0] })
			if at < 0 {
				return cli.Failf("members: %s is no member (the council is %s)", args[0], councilLine(&now))
			}
			p := now.Members[at].Peer
			if err := setPeer(&p, args[1:]); err != nil {
				return err
			}
			keys, err := readPublicKeys(c, o.keys)
			if err != nil {
				return &cli.Failure{Err: err}
			}
			if len(o.keys) > 0 {
				if len(keys[p.Name]) == 0 {
					return cli.Failf("members: no public key of %s in %s", p.Name, strings.Join(o.keys, " "))
				}
				p.PublicKeys = texts(keys[p.Name])
			}
			return o.change(c, roster.Change{Set: []regent.Peer{p}})
		},
	}
	o.flags(c)
	o.keysFlag(c)
	return c
}

func membersTimingCommand() *cobra.Command {
	var o changeOptions
	c := &cobra.Command{
		Use:   "timing [KEY=VALUE ...]",
		Short: "Show or change the longest lease and the drift",
		Long: `Shows the timing that all members agree on, or changes it. The keys are longest_lease, the longest
lease that any program may ask for, and drift, the bound on how far the rate of any clock
is off. The files of the hosts need not be changed: once the council has begun, what the
members have agreed on counts. A longest lease that is shorter than leases in force is
refused, and the error names these. Raise drift before clocks become worse, and lower it
after they have become better: until the change is over, and for the longest lease after that,
clocks must be within both bounds.` + changeStatus,
		Example: `  regent members timing
  regent members timing longest_lease=20s
  regent members timing drift=0.002 --dry-run`,
		RunE: func(c *cobra.Command, args []string) error {
			change, err := parseTiming(args)
			if err != nil {
				return err
			}
			var now api.CouncilInfo
			if err := newClient(o.socket).get(c.Context(), "/v1/council", &now); err != nil {
				return err
			}
			switch {
			case len(args) > 0:
				return o.changeIfAny(c, roster.Change{Timing: timingDifference(&now.Timing, &change)}, &now)
			case o.asJSON:
				return cli.WriteJSON(c, now.Timing)
			}
			fmt.Fprintln(c.OutOrStdout(), now.Timing)
			return nil
		},
	}
	o.flags(c)
	return c
}

// parseTiming reads KEY=VALUE.
func parseTiming(args []string) (out roster.Timing, err error) {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || value == "" {
			return out, fmt.Errorf("%q: must be KEY=VALUE, such as longest_lease=20s", arg)
		}
		switch key {
		case "longest_lease":
			out.LongestLease, err = time.ParseDuration(value)
			if err != nil || out.LongestLease <= 0 {
				return out, fmt.Errorf("longest_lease %q: must be a length of time, such as 20s", value)
			}
		case "drift":
			out.Drift, err = strconv.ParseFloat(value, 64)
			if err != nil || !(out.Drift > 0) {
				return out, fmt.Errorf("drift %q: must be a number above 0, such as 0.001", value)
			}
		default:
			return out, unchangeable(strings.TrimPrefix(key, "timing."))
		}
	}
	return out, nil
}

// compared are settings that members compare by the digest in their packets, and own are constants of each member's file.
var (
	compared = []string{"elector", "elector_faults", "elector_patience", "prefer", "calm", "local_majority", "local_turns", "local_tree", "renew", "delay", "evict", "consistent", "balance",
		"quorum_votes"}
	own = []string{"lease", "round_trip", "per_group", "guard", "heartbeat", "suspect"}
)

// unchangeable says why a key does not change by a step, and what to do.
func unchangeable(key string) error {
	switch {
	case slices.Contains(compared, key):
		return fmt.Errorf("%s: does not change while the council runs: members take it from their files, and a member that differs is not heard "+
			"(stop all agents, change all files, start all agents)", key)
	case slices.Contains(own, key):
		return fmt.Errorf("%s: members do not agree on it: each takes it from its own file (change all files, and start the agents again)", key)
	}
	return fmt.Errorf("%q: the keys are longest_lease and drift", key)
}

// timingDifference returns what of a wanted timing is not in force; nil if that is nothing.
func timingDifference(now, wanted *roster.Timing) *roster.Timing {
	if now.Over(wanted) == *now {
		return nil
	}
	return wanted
}

// changeIfAny is change, unless there is nothing to change and no change is running.
func (o *changeOptions) changeIfAny(c *cobra.Command, change roster.Change, now *api.CouncilInfo) error {
	if len(change.Add)+len(change.Remove)+len(change.Set) > 0 || change.Timing != nil || now.Goal != nil {
		return o.change(c, change)
	}
	if o.asJSON {
		now.Done = true
		return cli.WriteJSON(c, now)
	}
	fmt.Fprintf(c.OutOrStdout(), "nothing to do: %s\n", councilLine(now))
	return nil
}

// setPeer reads KEY=VALUE.
func setPeer(p *regent.Peer, args []string) error {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || value == "" {
			return fmt.Errorf("%q: must be KEY=VALUE, such as priority=10", arg)
		}
		switch key {
		case "address":
			p.Addrs = nil
			for a := range strings.SplitSeq(value, ",") {
				m, err := initMembers([]string{p.Name + "=" + a})
				if err != nil {
					return err
				}
				p.Addrs = append(p.Addrs, m[0].Address)
			}
		case "priority":
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("priority %q: must be a whole number", value)
			}
			p.Priority = n
		case "weight":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("weight %q: must be a whole number from 1 on", value)
			}
			p.Weight = n
		case "role":
			p.Witness, p.Observer = value == "witness", value == observer
			if !p.Witness && !p.Observer && value != "voter" {
				return fmt.Errorf("role %q: must be voter, witness or observer", value)
			}
		default:
			return fmt.Errorf("%q: the keys are address, priority, weight and role", key)
		}
	}
	return nil
}

func membersApplyCommand() *cobra.Command {
	var o changeOptions
	var file string
	var prune bool
	c := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Make the council what a file lists",
		Long: `Compares the list of members in the file of an agent with the council, and makes one change of all
differences. It can be run again: if there is no difference it changes nothing. Members
that the file does not list are removed only with --prune. Keys of members stay as they are.
The longest lease and the drift
are compared where the file names them: timing.longest_lease and timing.drift.` + changeStatus,
		Example: `  regent members apply -f regent.yaml --dry-run
  regent members apply -f regent.yaml --prune`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("missing file (pass -f FILE)")
			}
			f, err := config.Read(file)
			if err != nil {
				return &cli.Failure{Err: err}
			}
			if len(f.Council) == 0 {
				return cli.Failf("members: %s lists no council", file)
			}
			var now api.CouncilInfo
			if err := newClient(o.socket).get(c.Context(), "/v1/council", &now); err != nil {
				return err
			}
			change := difference(now.Members, f.Peers(), prune)
			change.Timing = timingDifference(&now.Timing, &roster.Timing{LongestLease: f.Timing.LongestLease, Drift: f.Timing.Drift})
			return o.changeIfAny(c, change, &now)
		},
	}
	o.flags(c)
	c.Flags().DurationVar(&o.within, "within", roster.DefaultWithin, "give the change up if a new host is silent for so long")
	c.Flags().StringVarP(&file, "file", "f", "", "the file of an agent, whose list of members is wanted")
	c.Flags().BoolVar(&prune, "prune", false, "remove members that the file does not list")
	return c
}

// difference returns the change from members to the wanted ones.
func difference(members []roster.Member, wanted []regent.Peer, prune bool) (out roster.Change) {
	for _, w := range wanted {
		at := slices.IndexFunc(members, func(m roster.Member) bool { return m.Name == w.Name && !m.New })
		switch {
		case at < 0:
			out.Add = append(out.Add, w)
		case !samePeer(withoutHints(&members[at]), w):
			w.PublicKeys = members[at].PublicKeys
			out.Set = append(out.Set, w)
		}
	}
	for i := range members {
		name := members[i].Name
		if prune && !members[i].New && !slices.ContainsFunc(wanted, func(w regent.Peer) bool { return w.Name == name }) {
			out.Remove = append(out.Remove, name)
		}
	}
	return out
}

// withoutHints returns a member with the addresses that members have agreed on. The agent that shows it may know more.
func withoutHints(m *roster.Member) regent.Peer {
	p := m.Peer
	if m.AgreedAddrs != nil {
		p.Addrs = m.AgreedAddrs
	}
	return p
}

// samePeer says whether a file says of a member what the council does. The keys of members are those agreed on: a file would bring a key back that was
// replaced.
func samePeer(now, file regent.Peer) bool {
	return now.Name == file.Name && slices.Equal(now.Addrs, file.Addrs) && now.Priority == file.Priority && max(1, now.Weight) == max(1, file.Weight) && now.Witness == file.Witness &&
		now.Observer == file.Observer
}
