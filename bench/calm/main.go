// Calm counts changes of leader that nothing caused, on a host that is busier than it should be: make bench-calm.
//
//	main.go      what takes part, and the table
//	council.go   members of the library, at each profile
//	programs.go  agents with the configuration that regent init writes, and programs under regent run
//	raft.go      hashicorp/raft, at timeouts with which it replaces a dead leader about as soon
//	process.go   processes that print lines and end with their input
//	bounds.go    the bounds of regent plan against later runs
//
// All take part at the same time, so that they see the same load. Before the load starts, the leader of each is killed some times, which shows that the
// councils that are compared replace a leader about as soon. Calm fails if a program under regent run was stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// settings say what is run.
type settings struct {
	length   time.Duration
	settle   time.Duration
	load     int
	kills    int
	profiles []string
	groups   int
	// ordinary are the schedulings of the members of the profiles: false is real-time.
	ordinary  []bool
	regent    string
	raft      string
	planRuns  int
	planRun   time.Duration
	planFirst time.Duration
	verbose   bool
}

// A contestant is a council that elects.
type contestant interface {
	name() string
	// start starts it and waits until it has a leader.
	start(context.Context) error
	// changes returns how many leaderships have begun so far.
	changes() int
	// kill kills the leader and returns after what time another led, and makes the council whole again; errNoKill if it does not do that.
	kill(context.Context) (time.Duration, error)
	stop() error
}

var errNoKill = errors.New("its leaders are not killed")

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "member":
			os.Exit(cluster.Serve(os.Stdin, os.Stdout, os.Stderr))
		case "burn":
			burn()
			return
		case "program":
			program()
			return
		}
	}
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench-calm:", err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-calm:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (settings, error) {
	s := settings{}
	f := flag.NewFlagSet("bench-calm", flag.ContinueOnError)
	f.SetOutput(errs)
	f.DurationVar(&s.length, "for", 15*time.Minute, "how long to count; 0: not at all")
	f.DurationVar(&s.settle, "settle", 10*time.Second, "how long to wait after the load begins before counting")
	f.IntVar(&s.load, "load", 40, "busy processes")
	f.IntVar(&s.kills, "kills", 5, "how often the leader of each is killed before the load begins")
	profiles := f.String("profiles", "fast,lan,wan", "profiles of the library that take part, each beside raft")
	f.IntVar(&s.groups, "groups", 3, "groups under regent run; 0: none")
	scheduling := f.String("scheduling", "realtime,ordinary", "how members of the profiles are scheduled; raft is ordinary")
	f.StringVar(&s.regent, "regent", "bin/regent", "the command line")
	f.StringVar(&s.raft, "raft", "bin/bench-raft", "the member of hashicorp/raft; empty: none")
	f.IntVar(&s.planRuns, "plan-runs", 0, "runs that the bounds of regent plan are compared with; 0: none")
	f.DurationVar(&s.planRun, "plan-run", 5*time.Minute, "how long each of them is")
	f.DurationVar(&s.planFirst, "plan-measure", time.Minute, "how long the plan measures")
	f.BoolVar(&s.verbose, "v", false, "show what processes write")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if *profiles != "" {
		s.profiles = strings.Split(*profiles, ",")
	}
	for _, p := range s.profiles {
		if _, ok := timings[p]; !ok {
			return s, fmt.Errorf("profile %q: there are fast, lan and wan", p)
		}
	}
	for w := range strings.SplitSeq(*scheduling, ",") {
		if w != "realtime" && w != "ordinary" {
			return s, fmt.Errorf("scheduling %q: there are realtime and ordinary", w)
		}
		s.ordinary = append(s.ordinary, w == "ordinary")
	}
	if s.load < 0 || s.kills < 0 || s.groups < 0 || s.planRuns < 0 || f.NArg() > 0 {
		return s, errors.New("numbers must not be negative, and there are no arguments")
	}
	return s, nil
}

// timings are the profiles by name.
var timings = map[string]regent.Timing{"fast": regent.Fast, "lan": regent.LAN, "wan": regent.WAN}

// programLease is the lease of programs under an agent that ask for none.
const programLease = 5 * time.Second

// contestants lists those that take part, each beside the raft that is compared with it.
func contestants(s settings) []contestant {
	var out []contestant
	beside := func(name string, lease time.Duration) {
		if s.raft != "" {
			out = append(out, newRaft(s, name, lease))
		}
	}
	if s.groups > 0 {
		out = append(out, &programs{settings: s})
		beside("regent run", programLease)
	}
	for _, p := range s.profiles {
		for _, ordinary := range s.ordinary {
			out = append(out, newCouncil(s, p, ordinary))
		}
		beside(p, timings[p].Lease)
	}
	return out
}

func run(ctx context.Context, s settings, out io.Writer) error {
	fmt.Fprintf(out, "%s: %d processors, %s, %s/%s\n", time.Now().UTC().Format(time.RFC3339), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	var failed error
	if s.length > 0 {
		failed = calm(ctx, s, out)
	}
	if s.planRuns > 0 && ctx.Err() == nil {
		failed = errors.Join(failed, bounds(ctx, s, out))
	}
	return failed
}

// calm counts changes of leader under load.
func calm(ctx context.Context, s settings, out io.Writer) (err error) {
	all := contestants(s)
	defer func() {
		for _, c := range slices.Backward(all) {
			err = errors.Join(err, c.stop())
		}
	}()
	for _, c := range all {
		if err := c.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	kills := make(map[contestant]sample)
	for _, c := range all {
		for range s.kills {
			d, err := c.kill(ctx)
			if errors.Is(err, errNoKill) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			kills[c] = append(kills[c], d)
		}
	}
	stop, err := burnAll(ctx, s.load)
	if err != nil {
		return err
	}
	defer stop()
	if err := sleep(ctx, s.settle); err != nil {
		return err
	}
	before := make([]int, len(all))
	for i, c := range all {
		before[i] = c.changes()
	}
	begin := time.Now()
	interrupted := sleep(ctx, s.length)
	fmt.Fprintf(out, "beside %d busy processes for %v:\n", s.load, time.Since(begin).Round(time.Second))
	fmt.Fprintf(out, "  %-38s %8s   %s\n", "", "changes", "a killed leader was replaced after (before the load)")
	for i, c := range all {
		n := c.changes() - before[i]
		fmt.Fprintf(out, "  %-38s %8d   %v\n", c.name(), n, kills[c])
		if _, ours := c.(*programs); ours && n > 0 {
			err = errors.Join(err, fmt.Errorf("%d programs under regent run changed places: there must be none", n))
		}
	}
	return errors.Join(err, interrupted)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A sample is lengths that were measured.
type sample []time.Duration

func (s sample) String() string {
	if len(s) == 0 {
		return "-"
	}
	x := slices.Sorted(slices.Values(s))
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return fmt.Sprintf("%.1f ms in the median, %.1f to %.1f ms, of %d", ms(x[len(x)/2]), ms(x[0]), ms(x[len(x)-1]), len(x))
}
