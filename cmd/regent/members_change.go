package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
	"github.com/regentproject/regent/roster"
)

// changeGoesOn is the exit status of a command that ends before the change that it asked for.
const changeGoesOn = 2

// changeOptions are the flags of all commands that change the council.
type changeOptions struct {
	socket              string
	timeout             time.Duration
	asJSON, dryRun, yes bool
	number              uint64
	keys                []string
	sites               map[string]string
	within              time.Duration
}

func (o *changeOptions) flags(c *cobra.Command) {
	agentFlags(c, &o.socket)
	f := c.Flags()
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to wait for the end of the change, which goes on without the command")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would change, and change nothing")
	f.BoolVar(&o.yes, "yes", false, "go on although the council would tolerate no failure afterwards")
	f.StringToStringVar(&o.sites, "site", nil, "the data centre of members, MEMBER=SITE, for what the loss of one would do on the way")
	f.Uint64Var(&o.number, "number", 0, "refuse the change unless the council has this number")
}

func (o *changeOptions) keysFlag(c *cobra.Command) {
	c.Flags().DurationVar(&o.within, "within", roster.DefaultWithin, "give the change up if a new host is silent for so long")
	c.Flags().StringArrayVar(&o.keys, "keys", nil, "a file with public keys, as 'regent keys exchange' prints it on the new host; - is the standard input")
}

const changeStatus = `

It prints the change first, then what it waits for. The command can be interrupted: the change
goes on, and 'regent members cancel' ends it. The exit status is 0 once the change is over, 1 if it was
refused, and 2 if it goes on.`

// roleFlags are those that say what a new member is for.
type roleFlags struct {
	witness, observer bool
	priority, weight  int
}

func (r *roleFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&r.witness, "witness", false, "the member votes and never leads")
	c.Flags().BoolVar(&r.observer, "observer", false, "the member neither votes nor leads")
	c.Flags().IntVar(&r.priority, "priority", 0, "members with a higher one go first in elections")
	c.Flags().IntVar(&r.weight, "weight", 1, "the share of the groups, in a balanced council")
}

func membersAddCommand() *cobra.Command {
	var o changeOptions
	var r roleFlags
	c := &cobra.Command{
		Use:   "add MEMBER=HOST[:PORT] ...",
		Short: "Add hosts to the council while it runs",
		Long: `Adds hosts to the council. Prepare each with 'regent init --join' and start its agent, before or
after this command: a new member learns what the council knows before it votes. The members
must know its public key, which 'regent keys exchange' prints on the new host. The command can
be run again: a host that is a member already is left as it is.` + changeStatus,
		Example: `  regent members add host4=10.0.0.4 --keys host4.pub
  regent members add w=10.0.0.9 --keys w.pub --witness`,
		Args: someArgs("MEMBER=HOST[:PORT]"),
		RunE: func(c *cobra.Command, args []string) error {
			add, err := o.newcomers(c, args, &r)
			if err != nil {
				return err
			}
			var now api.CouncilInfo
			if err := newClient(o.socket).get(c.Context(), "/v1/council", &now); err != nil {
				return err
			}
			add = slices.DeleteFunc(add, func(p regent.Peer) bool { return isMember(&now, p) })
			return o.changeIfAny(c, roster.Change{Add: add}, &now)
		},
	}
	o.flags(c)
	o.keysFlag(c)
	r.flags(c)
	return c
}

// isMember says whether the council has a member of which all is so that is asked for.
func isMember(now *api.CouncilInfo, p regent.Peer) bool {
	return slices.ContainsFunc(now.Members, func(m roster.Member) bool {
		return !m.New && !m.Leaving && samePeer(withoutHints(&m), p) && slices.Equal(m.PublicKeys, p.PublicKeys)
	})
}

func membersRemoveCommand() *cobra.Command {
	var o changeOptions
	c := &cobra.Command{
		Use:   "remove MEMBER ...",
		Short: "Remove hosts from the council while it runs",
		Long: `Removes hosts from the council, whether they run or not. A host that runs hands its groups over
first; then its agent stops. Its key is worth nothing in the council from then on.` + changeStatus,
		Example: `  regent members remove host3`,
		Args:    someArgs("MEMBER"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.change(c, roster.Change{Remove: args})
		},
	}
	o.flags(c)
	return c
}

func membersReplaceCommand() *cobra.Command {
	var o changeOptions
	var r roleFlags
	c := &cobra.Command{
		Use:   "replace OLD NEW=HOST[:PORT]",
		Short: "Replace a host, dead or alive, while the council runs",
		Long: `Replaces one host by another in a single change. If OLD is dead it loses its vote before NEW has one;
otherwise NEW votes first, so the council always tolerates as many failures as before. NEW may
have the name of OLD: then it is a new host of that name, with a directory and a key of its own.` + changeStatus,
		Example: `  regent members replace host3 host4=10.0.0.4 --keys host4.pub
  regent members replace host3 host3=10.0.0.33 --keys host3-new.pub`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("missing OLD or NEW (usage: regent members replace OLD NEW=HOST[:PORT])")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			add, err := o.newcomers(c, args[1:], &r)
			if err != nil {
				return err
			}
			change := roster.Change{Add: add, Remove: args[:1]}
			if add[0].Name == args[0] {
				change.Remove = nil
			}
			return o.change(c, change)
		},
	}
	o.flags(c)
	o.keysFlag(c)
	r.flags(c)
	return c
}

func membersCancelCommand() *cobra.Command {
	var o changeOptions
	c := &cobra.Command{
		Use:   "cancel",
		Short: "Cancel the running change of the council",
		Long: `Ends the running change. Votes stay as they are at that moment, and new members without a vote
leave.`,
		Example: `  regent members cancel`,
		Args:    cli.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.change(c, roster.Change{Cancel: true}) },
	}
	o.flags(c)
	return c
}

// someArgs refuses a command line without arguments.
func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("missing %s (usage: %s)", what, c.UseLine())
		}
		return nil
	}
}

// newcomers reads MEMBER=HOST[:PORT], with the keys of these members.
func (o *changeOptions) newcomers(c *cobra.Command, args []string, r *roleFlags) ([]regent.Peer, error) {
	members, err := initMembers(args)
	if err != nil {
		return nil, err
	}
	keys, err := readPublicKeys(c, o.keys)
	if err != nil {
		return nil, &cli.Failure{Err: err}
	}
	var out []regent.Peer
	for _, m := range members {
		if len(keys[m.Name]) == 0 {
			return nil, cli.Failf("members: no public key of %s (run 'regent keys exchange > %s.pub' there, and pass --keys %s.pub)", m.Name, m.Name, m.Name)
		}
		out = append(out, regent.Peer{Name: m.Name, Addrs: []string{m.Address}, PublicKeys: texts(keys[m.Name]), Witness: r.witness, Observer: r.observer, Priority: r.priority, Weight: r.weight})
	}
	return out, nil
}

// readPublicKeys reads files with public keys.
func readPublicKeys(c *cobra.Command, files []string) (map[string][]identity.Public, error) {
	keys := make(map[string][]identity.Public)
	for _, path := range files {
		data, err := readPublicFile(c, path)
		if err != nil {
			return nil, err
		}
		more, err := secret.ParsePublic(path, data)
		if err != nil {
			return nil, err
		}
		maps.Copy(keys, more)
	}
	return keys, nil
}

// change has the members agree on a change, and follows it.
func (o *changeOptions) change(c *cobra.Command, change roster.Change) error {
	change.Number, change.Within = o.number, o.within
	order := api.CouncilOrder{Change: change, DryRun: true, Yes: o.yes, Sites: o.sites}
	agent := newClient(o.socket)
	if !change.Cancel {
		var plan api.CouncilInfo
		if err := agent.post(c.Context(), "/v1/council", order, &plan); err != nil {
			return err
		}
		if err := o.printPlan(c, &plan, &change); err != nil || o.dryRun {
			return err
		}
	}
	var info api.CouncilInfo
	order.DryRun = false
	if err := agent.post(c.Context(), "/v1/council", order, &info); err != nil {
		return err
	}
	err := o.follow(c, agent, &info)
	var goesOn *cli.Exit
	if o.asJSON && (err == nil || errors.As(err, &goesOn) && goesOn.Status == changeGoesOn) {
		if err := cli.WriteJSON(c, info); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case info.Ended != "" && !change.Cancel:
		return cli.Failf("members: the change has not reached its goal: %s; the council is %s", info.Ended, councilLine(&info))
	case o.asJSON:
		return nil
	}
	fmt.Fprintf(c.OutOrStdout(), "done: %s\n", councilLine(&info))
	return nil
}

// showOnce prints lines that were not printed before. Lengths of time and counts of packets in them do not make them new.
func showOnce(c *cobra.Command, shown map[string]bool, lines []string) {
	for _, line := range lines {
		if same := lengths.ReplaceAllString(line, ""); !shown[same] {
			shown[same] = true
			fmt.Fprintln(c.OutOrStdout(), line)
		}
	}
}

var lengths = regexp.MustCompile(`for [0-9hms.]+|dropped: [0-9]+`)

// follow waits for the end of a change, and prints what it waits for.
func (o *changeOptions) follow(c *cobra.Command, agent *client, info *api.CouncilInfo) error {
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	look := time.NewTicker(changePollInterval)
	defer look.Stop()
	shown := make(map[string]bool)
	for !info.Done && (info.Running() || !info.Settled) {
		if !o.asJSON {
			showOnce(c, shown, append([]string{info.Progress()}, info.Troubles()...))
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			if !o.asJSON {
				fmt.Fprintf(c.ErrOrStderr(), "the change goes on: %s ('regent members' shows it, 'regent members cancel' ends it)\n", info.Progress())
			}
			return cli.Silently(changeGoesOn)
		}
		var next api.CouncilInfo
		if err := agent.get(ctx, "/v1/council", &next); err != nil {
			if ctx.Err() != nil {
				continue
			}
			return err
		}
		*info = next
	}
	info.Done = true
	return nil
}

const changePollInterval = 200 * time.Millisecond

// printPlan prints what a change is.
func (o *changeOptions) printPlan(c *cobra.Command, now *api.CouncilInfo, change *roster.Change) error {
	if o.asJSON {
		if o.dryRun {
			return cli.WriteJSON(c, now)
		}
		return nil
	}
	w := c.OutOrStdout()
	fmt.Fprintf(w, "council: %s\n", councilLine(now))
	for i := range change.Add {
		p := &change.Add[i]
		fmt.Fprintf(w, "  add     %s at %s%s, key %s\n", p.Name, strings.Join(p.Addrs, " "), roleText(p), keyFingerprints(p.PublicKeys))
	}
	for i := range change.Set {
		p := &change.Set[i]
		fmt.Fprintf(w, "  set     %s: %s, priority %d%s%s, key %s\n", p.Name, strings.Join(p.Addrs, " "), p.Priority, weightText(p), roleText(p), keyFingerprints(p.PublicKeys))
	}
	for _, name := range change.Remove {
		fmt.Fprintf(w, "  remove  %s\n", name)
	}
	if change.Timing != nil {
		next := now.Timing.Over(change.Timing)
		fmt.Fprintf(w, "  timing  %v, before %v\n", next, now.Timing)
	}
	if f := now.Forecast; f != nil {
		for _, text := range f.Lines {
			fmt.Fprintf(w, "  %s\n", text)
		}
		for _, text := range f.Warnings {
			fmt.Fprintf(w, "warning: %s\n", text)
		}
	}
	if o.dryRun {
		fmt.Fprintln(w, "nothing was changed (--dry-run)")
	}
	return nil
}

// weightText says how large the share of a member is, if that is not 1.
func weightText(p *regent.Peer) string {
	if p.Weight <= 1 {
		return ""
	}
	return fmt.Sprintf(", weight %d", p.Weight)
}

func roleText(p *regent.Peer) string {
	switch {
	case p.Witness:
		return ", witness"
	case p.Observer:
		return ", observer"
	}
	return ""
}

func keyFingerprints(keys []string) string {
	var out []identity.Public
	for _, text := range keys {
		if k, err := identity.ParsePublic(text); err == nil {
			out = append(out, k)
		}
	}
	return cmp.Or(fingerprints(out), "-")
}

// councilLine names the members of a council.
func councilLine(c *api.CouncilInfo) string {
	var names []string
	for i := range c.Members {
		m := &c.Members[i]
		name := m.Name
		switch {
		case m.New:
			name += " (new)"
		case m.Leaving:
			name += " (leaving)"
		case m.Witness:
			name += " (witness)"
		case m.Observer:
			name += " (observer)"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprintf("number %d: %s; tolerates %s", c.Number, strings.Join(names, ", "), cli.Count(c.Tolerates, "failure"))
}

// showChange shows the number of the council, and the change that is running.
func showChange(c *cobra.Command, socket string) {
	var info api.CouncilInfo
	if newClient(socket).get(c.Context(), "/v1/council", &info) != nil {
		return // the list of members has been printed
	}
	w := c.OutOrStdout()
	if info.Number > 0 || info.Goal != nil {
		fmt.Fprintf(w, "council %s\n", councilLine(&info))
	}
	if text := info.Warning(); text != "" {
		fmt.Fprintf(w, "warning: %s\n", text)
	}
	if info.Goal != nil {
		fmt.Fprintf(w, "a change is running, asked for at %s %s ago: %s\n", or(info.By), ago(info.Asked), info.Progress())
		for _, text := range info.Troubles() {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
}

// readPublicFile reads a file with public keys; - is the standard input.
func readPublicFile(c *cobra.Command, path string) ([]byte, error) {
	in := c.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, maxPublic))
}
