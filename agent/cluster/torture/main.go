//go:build linux

// Torture kills, stops and cuts off the processes of a council by seed, and judges what their journals show: make torture.
//
// Five hosts form one council. Four have an agent, and a runner with its keeper and a program for each group; the fifth is a member by
// the library that only votes. A sixth host takes its place, and the fifth that of the sixth, again and again: the council changes while all else
// happens. On half of the four the runners are root's and make cgroups. On the others they are an ordinary user's and make none.
// Programs fork, become daemons, clear their environment, change their user and ignore SIGTERM. Several hosts suffer faults at the same
// time, while processes without a purpose keep the processors busy. What happens is drawn from the seed; when it happens depends on the
// host, so a seed repeats a run only roughly.
//
// All programs write to one fenced store, and all hooks write down when they ran. The rules are in judge.go.
//
//	main.go    flags, the course of a run
//	arena.go   hosts, runners, programs
//	fault.go   what can happen, and how it is undone
//	actor.go   what programs and hooks do
//	move.go    hosts that join the council and leave it
//	store.go   the fenced store, and the processes that write to it
//	tap.go     the deadlines that agents announce
//	judge.go   the rules; record.go: what they judge
//	report.go  counts and lateness
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// settings are the flags.
type settings struct {
	faults int
	length time.Duration
	every  time.Duration
	busy   int
	seed   uint64
	hosts  string
	regent string
	logs   bool
}

func main() {
	child()
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
	f.IntVar(&s.faults, "faults", 2000, "how many faults to apply")
	f.DurationVar(&s.length, "for", 0, "how long to apply faults at most (default: no limit)")
	f.DurationVar(&s.every, "every", 200*time.Millisecond, "how long to wait between faults on average")
	f.IntVar(&s.busy, "busy", runtime.NumCPU(), "how many processes keep the processors busy")
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
	if s.faults < 1 || s.every <= 0 || s.busy < 0 || s.length < 0 {
		return s, errors.New("-faults and -every must be positive, -busy and -for not negative")
	}
	if !slices.Contains([]string{"auto", "namespaces", "loopback"}, s.hosts) {
		return s, fmt.Errorf("-hosts %q: must be auto, namespaces or loopback", s.hosts)
	}
	if _, err := os.Stat(s.regent); err != nil {
		return s, fmt.Errorf("-regent: %w (build it with: make build)", err)
	}
	return s, nil
}

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

// sweepEvery is how often torture looks what it has to start again, and what it has to end.
const sweepEvery = 100 * time.Millisecond

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	fmt.Fprintf(out, "seed %d, %d faults, %d busy processes\n", s.seed, s.faults, s.busy)
	a, err := open(s, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.start(); err != nil {
		return fmt.Errorf("%w\n%s", err, a.Logs())
	}
	if s.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.length)
		defer cancel()
	}
	a.torment(ctx, s)
	return a.finish()
}

// torment applies faults until there were enough or ctx ends, and then undoes all.
func (a *arena) torment(ctx context.Context, s settings) {
	next := time.Now()
	for ctx.Err() == nil && a.struck < s.faults {
		a.mend(time.Now())
		a.store.sweep()
		a.mover.sweep(time.Now())
		if time.Now().After(next) {
			a.strike()
			next = time.Now().Add(time.Duration(a.rand.Int64N(2 * int64(s.every))))
		}
		select {
		case <-time.After(min(sweepEvery, max(0, time.Until(next)))):
		case <-ctx.Done():
		}
	}
	a.mend(time.Time{})
	a.try("heal", a.HealAll())
}

// finish waits until the council works again, stops everything, and judges.
func (a *arena) finish() error {
	if err := a.mover.finish(); err != nil {
		a.wrong = append(a.wrong, err)
	}
	for _, g := range groups {
		if err := a.led("when all is mended", g, cluster.Now()); err != nil {
			a.wrong = append(a.wrong, err)
		}
	}
	a.stopRunners()
	r, err := a.record()
	if err != nil {
		return err
	}
	found := append(slices.Clone(a.wrong), r.judge()...)
	a.report(r)
	if len(found) > 0 {
		return errors.Join(append(found, errors.New("what processes logged:\n"+a.Logs()))...)
	}
	fmt.Fprintln(a.out, "no program ran beside its successor outside the documented exceptions, the store refused all that were stale, and hooks were in order")
	return nil
}
