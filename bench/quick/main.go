// Quick measures how soon a leader is replaced and what a council costs, with real processes on this host, beside the
// floors of the host in the same run: make bench-quick.
//
//	main.go      what is measured
//	failover.go  leaders that crash, are paused, resign and are cut off
//	split.go     councils that are cut in two: local leaders
//	idle.go      what a council costs when nothing happens; changes of leader without a cause
//	guardian.go  failovers after a kill with guardians and without, in turn
//	values.go    failovers of many groups with and without values, in turn
//	flood.go     what a sender at full speed costs the leader, beside the same sender aiming at a closed port
//	floor.go     a round trip on the loopback interface, a timer
//	stats.go     quantiles
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// settings say how much is measured.
type settings struct {
	trials     int
	members    []int
	profile    string
	timing     regent.Timing
	scheduling []bool // real-time or not
	kinds      []string
	splits     int
	idle       time.Duration
	groups     []int
	values     int
	guardian   int
	calm, busy time.Duration
	flood      time.Duration
	shapes     []string
	verbose    bool
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "member":
			os.Exit(cluster.Serve(os.Stdin, os.Stdout, os.Stderr))
		case "burn":
			burn()
			return
		case "flood":
			if err := send(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "bench-quick:", err)
				os.Exit(1)
			}
			return
		}
	}
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench-quick:", err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-quick:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (settings, error) {
	s := settings{}
	f := flag.NewFlagSet("bench-quick", flag.ContinueOnError)
	f.SetOutput(errs)
	f.IntVar(&s.trials, "trials", 100, "fail-overs of each kind")
	members := f.String("members", "3,5", "sizes of the councils")
	f.StringVar(&s.profile, "profile", "fast", "timing: fast, lan or wan")
	scheduling := f.String("scheduling", "realtime,ordinary", "how members are scheduled")
	kinds := f.String("kinds", "kill,stop,resign,cut", "how leaders go")
	f.IntVar(&s.splits, "splits", 100, "how often five members are cut in two, with a local leader in each part")
	f.DurationVar(&s.idle, "idle", 10*time.Second, "how long the cost of doing nothing is measured")
	groups := f.String("groups", "1,100,10000", "how many groups, when it is")
	f.IntVar(&s.values, "values", 5, "failovers of the most groups with values, and as many without, in turn")
	f.IntVar(&s.guardian, "guardian", 0, "failovers after kill -9 of leaders with a guardian, and as many without, in turn")
	f.DurationVar(&s.calm, "calm", 10*time.Minute, "how long to wait for changes without a cause on an idle host")
	f.DurationVar(&s.busy, "busy", 10*time.Minute, "how long to wait for them with all processors busy")
	f.DurationVar(&s.flood, "flood", 0, "how long a flood of each kind is sent")
	kindsOfFlood := f.String("shapes", strings.Join(shapes, ","), "kinds of floods")
	f.BoolVar(&s.verbose, "v", false, "show every trial")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	profiles := map[string]regent.Timing{"fast": regent.Fast, "lan": regent.LAN, "wan": regent.WAN}
	var ok bool
	s.timing, ok = profiles[s.profile]
	if !ok {
		return s, fmt.Errorf("profile %q: there are fast, lan and wan", s.profile)
	}
	var err error
	s.members, err = numbers(*members)
	if err != nil {
		return s, err
	}
	s.groups, err = numbers(*groups)
	if err != nil {
		return s, err
	}
	for w := range strings.SplitSeq(*scheduling, ",") {
		if w != "realtime" && w != "ordinary" {
			return s, fmt.Errorf("scheduling %q: there are realtime and ordinary", w)
		}
		s.scheduling = append(s.scheduling, w == "realtime")
	}
	for _, shape := range strings.Split(*kindsOfFlood, ",") {
		if !slices.Contains(shapes, shape) {
			return s, fmt.Errorf("kind of flood %q: there are %s", shape, strings.Join(shapes, ", "))
		}
		s.shapes = append(s.shapes, shape)
	}
	for _, kind := range strings.FieldsFunc(*kinds, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(ways, kind) {
			return s, fmt.Errorf("kind %q: there are %s", kind, strings.Join(ways, ", "))
		}
		s.kinds = append(s.kinds, kind)
	}
	return s, nil
}

func numbers(list string) ([]int, error) {
	var out []int
	if list == "" {
		return nil, nil
	}
	for w := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: must be numbers above 0, such as 3,5", list)
		}
		out = append(out, n)
	}
	return out, nil
}

func run(ctx context.Context, s settings, out io.Writer) error {
	t := s.timing
	fmt.Fprintf(out, "profile %s: lease %v, renewed every %v, round trip %v, guard %v\n", s.profile, t.Lease, t.Renew, t.RoundTrip, t.Guard)
	fmt.Fprintf(out, "host: %d processors, %s, %s/%s\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if err := floors(out); err != nil {
		return err
	}
	return measure(ctx, s, measurements(s), out)
}

// measure runs all measurements, also if some fail, and names those at the end.
func measure(ctx context.Context, s settings, all []measurement, out io.Writer) error {
	var wrong []error
	for i, e := range all {
		err := e.run(ctx, s, out)
		if err == nil {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s: %w", e.name, err))
		fmt.Fprintf(out, "%s: not complete: %v\n", e.name, err)
		if ctx.Err() != nil {
			fmt.Fprintf(out, "\ninterrupted: %d of %d measurements did not run\n", len(all)-i-1, len(all))
			break
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d measurements are not complete:\n%w", len(wrong), len(all), errors.Join(wrong...))
	}
	fmt.Fprintln(out, "\nno two programs led at one instant, and tokens grew")
	return nil
}

// A measurement is one experiment. One that fails does not keep the others from running.
type measurement struct {
	name string
	run  func(context.Context, settings, io.Writer) error
}

// measurements returns what the settings ask for, in the order in which it runs.
func measurements(s settings) (all []measurement) {
	add := func(realtime bool, name string, run func(context.Context, settings, io.Writer) error) {
		all = append(all, measurement{name + ", " + named(realtime), run})
	}
	for _, realtime := range s.scheduling {
		for _, n := range s.members {
			for _, kind := range s.kinds {
				add(realtime, fmt.Sprintf("%s, %d members", kind, n), func(ctx context.Context, s settings, out io.Writer) error {
					return failover(ctx, s, n, kind, realtime, out)
				})
			}
		}
	}
	for _, realtime := range s.scheduling {
		for _, n := range s.members {
			add(realtime, fmt.Sprintf("guardian, %d members", n), func(ctx context.Context, s settings, out io.Writer) error {
				return guardians(ctx, s, n, realtime, out)
			})
		}
	}
	for _, realtime := range s.scheduling {
		add(realtime, "split", func(ctx context.Context, s settings, out io.Writer) error { return split(ctx, s, realtime, out) })
	}
	for _, realtime := range s.scheduling {
		for _, n := range s.groups {
			for _, with := range []bool{false, true}[:min(n, 2)] {
				add(realtime, fmt.Sprintf("idle, %d groups", n), func(ctx context.Context, s settings, out io.Writer) error {
					return idle(ctx, s, n, realtime, with, out)
				})
			}
		}
		add(realtime, "values", func(ctx context.Context, s settings, out io.Writer) error { return values(ctx, s, realtime, out) })
		for _, calm := range []bool{true, false} {
			add(realtime, map[bool]string{true: "calm", false: "busy"}[calm], func(ctx context.Context, s settings, out io.Writer) error {
				return spontaneous(ctx, s, calm, realtime, out)
			})
		}
	}
	for _, realtime := range s.scheduling {
		add(realtime, "flood", func(ctx context.Context, s settings, out io.Writer) error { return flood(ctx, s, realtime, out) })
	}
	return all
}

// named says how members are scheduled, as the tables have it.
func named(realtime bool) string {
	if realtime {
		return "realtime"
	}
	return "ordinary"
}
