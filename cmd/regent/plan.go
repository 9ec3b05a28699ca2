package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/plan"
	"github.com/regentproject/regent/agent/plan/measure"
)

// planFlags are those of regent plan.
type planFlags struct {
	intent  plan.Intent
	measure time.Duration
	explain string
	peers   []string
	dir     string
	busy    bool
	asJSON  bool
	socket  string
	// ordinary says that the file to explain wants no real-time scheduling, and longer is the length of leases of programs without it; zero: that of the
	// file.
	ordinary bool
	longer   time.Duration
}

func planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan",
		Short: "Measure this host and plan the timing of a council",
		Long: `Measures how late threads of this host wake up, how long packets to other hosts take and
how long the disk takes, and prints the shortest timing that is safe here: leases, what
they survive, how soon a dead leader is replaced, every inequality with its numbers, what
it costs, and YAML for the configuration of all members.

Half of the time the host is measured as it is, half of it beside one busy process for
each processor. --busy=false leaves the second half out on a host that serves others.
Ctrl-C ends the measurement, and the plan rests on what there is.

Round trips come from the agent of this host. Before there is a council, run 'regent plan
probe' on the other hosts, and name them with --peers.

Run it on every host of the council, at the time of day at which it has most to do. All
members need the same timing: take the longest lease of all plans. The exit status is 1 if
the plan is not safe, because the host or the network does not allow what you ask for.`,
		Example: `  regent plan --tolerate-pause 500ms
  regent plan --failover 50ms --measure 10m --peers host2:7400,host3:7400
  regent plan --explain /etc/regent/regent.yaml --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	s := c.Flags()
	s.DurationVar(&f.intent.FailOver, "failover", 0, "replace a dead leader within this time at most")
	s.DurationVar(&f.intent.Pause, "tolerate-pause", 0, "keep leases through pauses of this length (default: twice the longest measured)")
	s.DurationVar(&f.measure, "measure", time.Minute, "how long to measure; 0: not at all")
	s.StringVar(&f.explain, "explain", "", "explain the timing of this configuration file instead of planning one")
	s.StringSliceVar(&f.peers, "peers", nil, "host:port of hosts that run 'regent plan probe'")
	s.DurationVar(&f.intent.RoundTrip, "round-trip", 0, "count on this round trip between members (default: what is measured)")
	s.IntVar(&f.intent.Members, "members", 0, "how many members may lead (default: those of the file or of the agent, or 3)")
	s.StringVar(&f.dir, "dir", "", "measure disk syncs in this directory (default: dir of the file, or "+config.DefaultDir+" if it exists)")
	s.BoolVar(&f.busy, "busy", true, "keep all processors busy for half of the time")
	s.BoolVar(&f.asJSON, "json", false, "print JSON")
	socketFlag(c, &f.socket)
	c.AddCommand(planProbeCommand())
	return c
}

// planReport is all that plan prints.
type planReport struct {
	Measured *plan.Measured `json:"measured"`
	Plan     *plan.Plan     `json:"plan"`
	// Explained is the file whose timing it is; empty: it was planned.
	Explained string `json:"explained,omitempty"`
	// Interrupted says that less was measured than asked for.
	Interrupted bool `json:"interrupted,omitempty"`
}

func (f *planFlags) run(c *cobra.Command) error {
	timing, lengths, err := f.fromFile(!c.Flags().Changed("socket"))
	if err != nil {
		return &cli.Failure{Err: err}
	}
	ask := f.fromAgent(c.Context())
	if f.intent.Members == 0 {
		f.intent.Members = 3
	}
	if err := f.intent.Check(); err != nil {
		return err
	}
	if f.measure < 0 {
		return fmt.Errorf("--measure %v: must not be negative", f.measure)
	}
	for _, name := range []string{"failover", "tolerate-pause", "round-trip"} {
		if s := c.Flags().Lookup(name); s.Changed && s.Value.String() == "0s" {
			return fmt.Errorf("--%s 0s: must be above 0", name)
		}
	}
	if f.measure == 0 && f.explain == "" && f.intent.Pause == 0 && f.intent.FailOver == 0 {
		return errors.New("--measure 0: nothing to plan with (set --tolerate-pause or --failover, or measure)")
	}
	m, err := f.take(c, ask)
	if err != nil {
		return &cli.Failure{Err: fmt.Errorf("plan: %w", err)}
	}
	r := planReport{Measured: m, Explained: f.explain, Interrupted: c.Context().Err() != nil}
	if f.explain != "" {
		if f.longer != 0 && (f.ordinary || m.Ordinary()) {
			lengths[0] = f.longer
		}
		r.Plan = plan.Explain(timing, lengths[0], f.intent, m)
		r.Plan.Add(plan.Lengths(timing, lengths[1:], m))
		r.Plan.YAML = ""
	} else {
		r.Plan, err = plan.Make(f.intent, m)
		if err != nil {
			return &cli.Failure{Err: fmt.Errorf("plan: %w", err)}
		}
	}
	if f.asJSON {
		if err := cli.WriteJSON(c, r); err != nil {
			return err
		}
	} else {
		r.print(c.OutOrStdout())
	}
	if !r.Plan.Safe {
		return cli.Silently(cli.Failed)
	}
	return nil
}

// fromFile reads the file to explain, and takes from it what flags do not set, the socket of its agent among it.
func (f *planFlags) fromFile(socket bool) (timing regent.Timing, lengths []time.Duration, err error) {
	if f.dir == "" && f.explain == "" {
		if _, err := os.Stat(config.DefaultDir); err == nil {
			f.dir = config.DefaultDir
		}
	}
	if f.explain == "" {
		return regent.Timing{}, nil, nil
	}
	file, err := config.Load(f.explain)
	if err != nil {
		return regent.Timing{}, nil, err
	}
	r, err := file.Regent()
	if err != nil {
		return regent.Timing{}, nil, err
	}
	f.ordinary = r.NoRealtime
	if file.ProgramLease() == 0 {
		f.longer = file.OrdinaryLease()
	}
	if socket && file.Socket.Path != "" {
		f.socket = file.Socket.Path
	}
	if f.dir == "" {
		f.dir = file.Dir
	}
	if f.intent.Members == 0 {
		for _, p := range r.Council {
			if !p.Observer && !p.Witness {
				f.intent.Members++
			}
		}
	}
	return r.Timing, leaseLengths(file), nil
}

// leaseLengths returns the lengths of leases of programs: that of groups that no rule names, and those of the rules. Zero: the council's.
func leaseLengths(file *config.File) []time.Duration {
	out := []time.Duration{file.ProgramLease()}
	for i := range file.Leases {
		out = append(out, file.Leases[i].Lease)
	}
	return out
}

// fromAgent returns what asks the agent of this host for round trips; nil if there is none.
func (f *planFlags) fromAgent(ctx context.Context) func(context.Context) map[string]time.Duration {
	cl := newClient(f.socket)
	ask := func(ctx context.Context) ([]regent.PeerStatus, error) {
		var list api.MemberList
		err := cl.get(ctx, "/v1/members", &list)
		return list.Members, err
	}
	first, err := ask(ctx)
	if err != nil {
		return nil
	}
	if f.intent.Members == 0 {
		for i := range first {
			if first[i].Role == "" {
				f.intent.Members++
			}
		}
	}
	return func(ctx context.Context) map[string]time.Duration {
		members, _ := ask(ctx) // an agent that does not answer now may in a second
		out := make(map[string]time.Duration)
		for i := range members {
			if m := &members[i]; !m.Self && m.Heard {
				out[m.Name] = m.RoundTrip
			}
		}
		return out
	}
}

// take measures, and shows how far it is.
func (f *planFlags) take(c *cobra.Command, ask func(context.Context) map[string]time.Duration) (*plan.Measured, error) {
	if f.measure == 0 {
		return &plan.Measured{}, nil
	}
	o := measure.Options{For: f.measure, Step: f.step(), Realtime: !f.ordinary, Dir: f.dir, Peers: f.peers, Trips: ask}
	if f.busy {
		o.Busy = keepBusy
	}
	errs := c.ErrOrStderr()
	last := plan.Load("")
	o.Progress = func(p measure.Progress) {
		switch {
		case isTerminal(errs):
			fmt.Fprintf(errs, "\r\x1b[Kmeasuring (%s): %s of %s, longest pause %s; Ctrl-C plans with what there is", p.Load,
				plan.Length(p.Elapsed.Round(time.Second)), plan.Length(p.For), plan.Length(p.Longest))
		case p.Load != last:
			fmt.Fprintf(errs, "measuring for %s: %s\n", plan.Length(p.For), p.Load)
		}
		last = p.Load
	}
	m, err := measure.Run(c.Context(), o)
	if isTerminal(errs) {
		fmt.Fprint(errs, "\r\x1b[K")
	}
	return m, err
}

// step is how often threads look: fine enough for what is planned, and no finer, so that processors sleep as they will.
func (f *planFlags) step() time.Duration {
	const finest, usual, coarsest = time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond
	target := f.intent.FailOver
	if p := f.intent.Pause; target == 0 || p > 0 && p < target {
		target = p
	}
	if target == 0 {
		return usual
	}
	return min(max(target/25, finest), coarsest)
}

// keepBusy starts one busy process for each processor. They end when their input does, which this process holds.
func keepBusy(ctx context.Context) (stop func(), err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all []*exec.Cmd
	var inputs []io.Closer
	stop = func() {
		for _, in := range inputs {
			_ = in.Close()
		}
		for _, c := range all {
			_ = c.Wait()
		}
	}
	for range runtime.NumCPU() {
		c := exec.CommandContext(ctx, path, "plan-load")
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("starting a busy process: %w (--busy=false measures without)", err)
		}
		all, inputs = append(all, c), append(inputs, in)
	}
	return stop, nil
}

// planLoadCommand is a process that keeps one processor busy. It is not for people.
func planLoadCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "plan-load",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			go func() {
				_, _ = io.Copy(io.Discard, c.InOrStdin())
				os.Exit(0)
			}()
			for c.Context().Err() == nil {
				for range 1 << 20 {
					busy++
				}
			}
			return nil
		},
	}
}

// busy is what a busy process counts, so that the compiler leaves it the work.
var busy uint64
