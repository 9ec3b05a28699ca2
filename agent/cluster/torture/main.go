// Torture kills, pauses and cuts off a council by seed, and checks that no two programs led at once: make torture FOR=2m SEED=7.
//
// Five hosts form one council: three with an agent and a program under regent run, two with a member by the library. All lead one
// group. What happens is drawn from the seed; when it happens depends on the host, so a seed repeats a run only roughly.
//
//	main.go   flags, the course of a run, the summary
//	fault.go  what can happen to a host, and how it is undone
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// settings are the flags.
type settings struct {
	length time.Duration
	seed   uint64
	hosts  string
	regent string
	logs   bool
}

func main() {
	cluster.Main()
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "torture:", err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("torture", flag.ContinueOnError)
	f.SetOutput(errs)
	f.DurationVar(&s.length, "for", 2*time.Minute, "how long to break things")
	f.Uint64Var(&s.seed, "seed", 0, "decides what happens (default: a new one)")
	f.StringVar(&s.hosts, "hosts", "auto", "what hosts are: namespaces, loopback, or auto: namespaces where they are possible")
	f.StringVar(&s.regent, "regent", "bin/regent", "the program to run agents and runners from")
	f.BoolVar(&s.logs, "logs", false, "show what all processes log")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	if !slices.Contains([]string{"auto", "namespaces", "loopback"}, s.hosts) {
		return s, fmt.Errorf("-hosts %q: must be auto, namespaces or loopback", s.hosts)
	}
	if _, err := os.Stat(s.regent); err != nil {
		return s, fmt.Errorf("-regent: %w (build it with: make build)", err)
	}
	return s, nil
}

// group is what all lead.
const group = "g"

// The timing leaves room for the pauses of a busy host: a program under regent run is killed a guard time before its lease ends.
const (
	lease = 2 * time.Second
	guard = time.Second
)

// yaml is the same timing for agents.
var yaml = fmt.Sprintf("timing: {lease: %v, guard: %v}\n", lease, guard)

// timing is the same for members by the library.
func timing() regent.Timing {
	t := regent.LAN
	t.Lease, t.LongestLease, t.Guard = lease, max(lease, t.LongestLease), guard
	return t
}

// arena is a run.
type arena struct {
	*cluster.Cluster
	rand  *rand.Rand
	out   io.Writer
	begin time.Time
	hosts []*host
	done  map[string]int // how often each fault was applied
	wrong []error        // what could not be done or undone
}

// host is one of the cluster.
type host struct {
	name  string
	agent bool // it has an agent and a runner; otherwise a member
	// busy is when what was done to it is undone, by undo; zero: nothing was.
	busy time.Time
	undo func() error
}

// runner is the name of the runner of a host.
func (h *host) runner() string { return "run-" + h.name }

// choose finds out what hosts are.
func choose(hosts string, out io.Writer) (kind cluster.Hosts, clocks map[string]time.Duration, err error) {
	kind = cluster.Loopback
	if hosts != "loopback" {
		why := cluster.CanNamespaces()
		switch {
		case why == nil:
			kind = cluster.Namespaces
		case hosts == "namespaces":
			return kind, nil, why
		default:
			fmt.Fprintf(out, "hosts share the loopback interface: %v\n", why)
		}
	}
	if why := cluster.CanClocks(); why != nil {
		fmt.Fprintf(out, "hosts share their clocks: %v\n", why)
		return kind, nil, nil
	}
	return kind, map[string]time.Duration{"b": time.Hour, "d": 10000 * time.Hour}, nil
}

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	fmt.Fprintf(out, "seed %d, for %v\n", s.seed, s.length)
	kind, clocks, err := choose(s.hosts, out)
	if err != nil {
		return err
	}
	o := cluster.Options{Names: []string{"a", "b", "c", "d", "e"}, Hosts: kind, Relay: true, Seed: s.seed, Clocks: clocks, Timing: timing(), Config: yaml,
		Command: cluster.Child(), Groups: cluster.OneGroup, Poll: time.Millisecond,
		Regent: func(args ...string) *exec.Cmd { return exec.Command(s.regent, args...) }}
	if s.logs {
		o.Log = func(process, line string) { fmt.Fprintf(out, "%s: %s\n", process, line) }
	}
	c, err := cluster.New(o)
	if err != nil {
		return err
	}
	a := &arena{Cluster: c, rand: rand.New(rand.NewPCG(s.seed, 0)), out: out, begin: time.Now(), done: make(map[string]int)}
	defer func() { err = errors.Join(err, c.Close()) }()
	go func() { // nothing here reads events: the journals have it
		for range c.Events() {
		}
	}()
	if err := a.start(); err != nil {
		return fmt.Errorf("%w\n%s", err, c.Logs())
	}
	ctx, cancel := context.WithTimeout(ctx, s.length)
	defer cancel()
	a.torment(ctx)
	return a.judge()
}

// start starts everything and waits until a program leads.
func (a *arena) start() error {
	for i, name := range a.Names {
		h := &host{name: name, agent: i < 3}
		a.hosts = append(a.hosts, h)
		if !h.agent {
			if err := a.Start(name); err != nil {
				return err
			}
			continue
		}
		if _, err := a.StartAgent(name); err != nil {
			return err
		}
	}
	for _, h := range a.hosts {
		if !h.agent {
			continue
		}
		if err := a.AwaitAgents(h.name); err != nil {
			return err
		}
		if err := a.startRunner(h); err != nil {
			return err
		}
	}
	return a.led("at first", 0)
}

func (a *arena) startRunner(h *host) error {
	_, err := a.Run(h.runner(), h.name, group, []string{"--restart", "--delay", "100ms", "--grace", "300ms", "--guard", guard.String()}, a.Acting(a.rand.IntN(2) == 0)...)
	return err
}

// led waits until a program has led after a reading of the clock.
func (a *arena) led(when string, after cluster.Time) error {
	return cluster.Wait(cluster.Patience, "a program leads "+when, func() bool {
		spans, err := a.Spans()
		return err == nil && slices.ContainsFunc(spans, func(s cluster.Span) bool { return s.Seen > after })
	})
}

// torment breaks things until ctx ends, and then mends all.
func (a *arena) torment(ctx context.Context) {
	for ctx.Err() == nil {
		a.mend(time.Now())
		a.strike()
		select {
		case <-time.After(time.Duration(a.rand.Int64N(int64(lease)))):
		case <-ctx.Done():
		}
	}
	a.mend(time.Time{})
	a.try("heal", a.HealAll())
}

// judge waits until the council works again, and checks the journals.
func (a *arena) judge() error {
	found := slices.Clone(a.wrong)
	if err := a.led("when all is mended", cluster.Now()); err != nil {
		found = append(found, err)
	}
	for _, h := range a.hosts {
		if h.agent {
			a.Stop(h.runner(), cluster.Patience)
		}
	}
	rep, err := a.Check(cluster.Rules{})
	if err != nil {
		found = append(found, err)
	}
	holders := make(map[string]int)
	for _, s := range rep.Spans {
		holders[s.Holder]++
	}
	fmt.Fprintf(a.out, "\nfaults: %s\n%d leaderships in %v: %v; two at once: %v\n", counts(a.done), len(rep.Spans), time.Since(a.begin).Round(time.Second), counts(holders), rep.Both)
	if len(found) > 0 {
		return errors.Join(append(found, errors.New("what processes logged:\n"+a.Logs()))...)
	}
	fmt.Fprintln(a.out, "no two led at once, and tokens grew")
	return nil
}

// counts lists what was counted, by name.
func counts(m map[string]int) string {
	var all []string
	for name, n := range m {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
