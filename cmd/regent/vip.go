package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	runner "github.com/regentproject/regent/agent/run"
	vip "github.com/regentproject/regent/agent/run/address"
)

const vipLong = `Adds addresses to interfaces of this host only while it leads GROUP, and deletes them before
another host can lead. Run the same command on every host that may have the addresses: one
of them has all of them at any time. No program is needed.

An address has the form ADDRESS/LENGTH@INTERFACE, of IPv4 or IPv6. The kernel gets it with a
lifetime that ends a second or more before the lease, and regent vip refreshes that while the
lease is renewed. When the leadership ends, regent vip deletes the address; if it is killed or
stopped, its keeper process and the agent do. If all of these are stopped, the kernel removes
the address before another host can lead. The new holder tells its neighbours at once
that it has the address (gratuitous ARP, unsolicited neighbour advertisements).

Every 5 s regent vip looks whether another host answers for an address that it holds, and
warns. It changes nothing then: find the other host.

The command needs the capability CAP_NET_ADMIN, and CAP_NET_RAW to tell neighbours: run it as
root, or as a service with these. Other users may have addresses that the agent's
configuration lists for them (addresses): the agent then adds and deletes them. Leases must last 5 s or more, because the kernel counts
lifetimes in whole seconds. A host that dies is replaced after its lease; a process that
dies, and an orderly stop, are noticed at once.

--health and --ready are lines for /bin/sh -c, as those of regent run. With --json the
standard output has one JSON object for each event: held, released, duplicate, failed.

The exit status is 0 if the command was asked to stop, and otherwise

  123  this host did not lead within --wait
  125  regent vip failed, or usage error`

func vipCommand() *cobra.Command {
	f := &runFlags{hookTimeout: time.Second}
	dryRun := false
	c := &cobra.Command{
		Use:   "vip GROUP ADDRESS/LENGTH@INTERFACE ...",
		Short: "Have an address on this host only while it leads a group",
		Long:  vipLong,
		Example: `  regent vip web 10.0.0.9/24@eth0
  regent vip web 10.0.0.9/24@eth0 2001:db8::9/64@eth0
  regent vip db 10.0.0.8/24@eth0 --health 'pg_isready -q'
  regent vip web 10.0.0.9/24@eth0 --dry-run`,
		ValidArgsFunction: groupNames,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return vipMisused(errors.New("want a group and addresses: regent vip GROUP 10.0.0.9/24@eth0"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.Group, f.Addresses = args[0], args[1:]
			return f.vip(c, dryRun)
		},
	}
	socketFlag(c, &f.socket)
	s := c.Flags()
	s.DurationVar(&f.Lease, "lease", 0, "how long a lease is, 5s or more: a dead host is replaced after it (default: what the agent is configured with for GROUP)")
	s.DurationVar(&f.Wait, "wait", 0, "end with status 123 if this host does not lead within this time (default: wait without end)")
	s.StringVar(&f.health, "health", "", "a line for the shell that fails when this host must not have the addresses any more; then the group is given up")
	s.StringVar(&f.ready, "ready", "", "a line for the shell that fails when this host must not lead; then it does not campaign")
	s.DurationVar(&f.healthEvery, "health-interval", 5*time.Second, "how often --health and --ready are asked")
	s.DurationVar(&f.healthTimeout, "health-timeout", 5*time.Second, "how long they may take")
	s.IntVar(&f.healthFailures, "health-failures", 3, "how many failures of --health in a row count")
	s.BoolVar(&dryRun, "dry-run", false, "say what would be done and what stands in the way, and change nothing")
	s.BoolVar(&f.JSON, "json", false, "print events as JSON")
	s.BoolVarP(&f.Quiet, "quiet", "q", false, "say nothing about elections on the standard error")
	// The agent passes these to the process that it starts for a user that may not change addresses.
	s.BoolVar(&f.attached, "attached", false, "stop when the standard input ends; a line on it says why this host is not fit to lead")
	s.BoolVar(&f.Once, "once", false, "end after the first leadership")
	_, _ = s.MarkHidden("attached"), s.MarkHidden("once")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return vipMisused(err) })
	return c
}

func vipMisused(err error) error {
	return &cli.Exit{Err: fmt.Errorf("regent: %w (usage: regent vip GROUP ADDRESS/LENGTH@INTERFACE ...; see 'regent vip --help')", err), Status: runner.StatusFailed}
}

// vipGrace is how long the process that holds addresses has to delete them.
const vipGrace = 2 * time.Second

// vip holds addresses.
func (f *runFlags) vip(c *cobra.Command, dryRun bool) error {
	if vip.Supported != nil {
		return runFailed(c, vip.Supported, runner.StatusFailed)
	}
	addresses, err := vip.ParseAll(f.Addresses)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return vipMisused(err)
	}
	if err := runner.CheckLease(f.Group, f.Lease); err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	if err := f.helpers(); err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	for i, a := range addresses {
		f.Addresses[i] = a.String()
	}
	if !vip.MayChange() && !f.attached {
		return f.vipByAgent(c, addresses, dryRun)
	}
	for _, a := range addresses {
		if err := a.OnHost(); err != nil {
			return runFailed(c, err, runner.StatusFailed)
		}
	}
	if err := f.unanswered(c.Context(), addresses); err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	if dryRun {
		return f.dryRun(c, addresses)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	defer null.Close()
	f.Files = []*os.File{null, os.Stdout, os.Stderr}
	f.Grace, f.Restart, f.Delay = vipGrace, true, time.Second
	return f.start(c)
}

// vipReport is what a dry run has found.
type vipReport struct {
	Group     string   `json:"group"`
	Addresses []string `json:"addresses"`
	// Leader is the host that leads now.
	Leader string `json:"leader,omitempty"`
}

// dryRun says what would be done.
func (f *runFlags) dryRun(c *cobra.Command, addresses []vip.Address) error {
	leader, err := f.leader(c.Context())
	if err != nil {
		return err
	}
	if f.JSON {
		return cli.WriteJSON(c, vipReport{Group: f.Group, Addresses: f.Addresses, Leader: leader})
	}
	for _, a := range addresses {
		fmt.Fprintf(c.OutOrStdout(), "would add %v to %s while this host leads %s\n", a.Prefix, a.Interface, f.Group)
	}
	if leader != "" {
		fmt.Fprintf(c.OutOrStdout(), "%s leads %s now\n", leader, f.Group)
	}
	return nil
}

// leader returns who leads the group; empty if the agent has heard of no leader.
func (f *runFlags) leader(ctx context.Context) (string, error) {
	g, err := whoLeads(ctx, newClient(f.socket), f.Group, 0)
	var r *refusal
	switch {
	case err == nil:
		return g.Leader, nil
	case errors.As(err, &r) && r.status == http.StatusNotFound: // nobody has campaigned for it lately
		return "", nil
	}
	return "", err
}

// unledFor is how long a group may have no leader while a host answers for its address: that of the last leader, until its lifetime ends.
const unledFor = 6 * time.Second

// unanswered says that a host answers for an address that nobody can have, because nobody leads the group.
func (f *runFlags) unanswered(ctx context.Context, addresses []vip.Address) error {
	for begun := time.Now(); ctx.Err() == nil; {
		leader, err := f.leader(ctx)
		if err != nil || leader != "" {
			return nil // the leader has them; an agent that does not answer is reported elsewhere
		}
		a, other := firstAnswered(addresses)
		switch {
		case other == "":
			return nil
		case time.Since(begun) > unledFor:
			return fmt.Errorf("add %v: the host with the hardware address %s has it already, and nobody leads %s: take the address away from that host first", a, other, f.Group)
		}
	}
	return nil
}

// firstAnswered asks for all addresses at once, and returns the first for which another host answers, with its hardware address. An address that cannot be
// asked for has no answer: the background probes report why.
func firstAnswered(addresses []vip.Address) (vip.Address, string) {
	others := make([]string, len(addresses))
	var asked sync.WaitGroup
	for i, a := range addresses {
		asked.Go(func() {
			if other, err := a.Probe(vip.ProbeWithin); err == nil {
				others[i] = other
			}
		})
	}
	asked.Wait()
	for i, other := range others {
		if other != "" {
			return addresses[i], other
		}
	}
	return vip.Address{}, ""
}
