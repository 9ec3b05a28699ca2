// Peers compares Regent with other systems that elect leaders, in one run on this machine: make bench-peers.
//
//	main.go     flags
//	plan.go     what runs, in alternating blocks; the search for the fastest setting
//	system.go   Regent, its agent, hashicorp/raft
//	stores.go   etcd, Redis, ZooKeeper
//	addresses.go keepalived
//	rig.go      one system that runs
//	trial.go    how leaders go
//	usage.go    what it costs to do nothing; busy processes
//	results.go  what is found
//	machine.go  where
//	table.go    as a table
//	plot.go     as plots
//	svg.go      a plot
//
// Each system is processes on three hosts: network namespaces if the command may make them, and otherwise processes on the loopback interface. docs/peers.md says how
// and why. Candidates are programs of their own (peer-regent, peer-raft and so on), so that none bears what the library of another costs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// settings say what is measured.
type settings struct {
	systems           []*system
	defaults, fastest bool
	given             map[string]string // fastest settings that need not be found
	kinds             []string
	trials, slow      int
	length, busy      time.Duration
	burners, blocks   int
	apart             bool // hosts are network namespaces
	bin, out          string
	programs          map[string]string
	verbose           bool
	command           string
	render            string // a directory of results
	log               io.Writer
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench-peers:", err)
		}
		os.Exit(2)
	}
	if s.render != "" {
		r, err := readReport(s.render)
		if err == nil {
			err = r.write(s.render)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench-peers:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := measure(ctx, s)
	if err := r.write(s.out); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
	fmt.Print(r.markdown())
	s.progress("wrote peers.json, peers.md and plots into %s", s.out)
	if len(r.Runs) == 0 || ctx.Err() != nil {
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (*settings, error) {
	self, _ := os.Executable()
	s := &settings{given: make(map[string]string), programs: make(map[string]string), log: errs, command: "bench-peers " + strings.Join(args, " ")}
	f := flag.NewFlagSet("bench-peers", flag.ContinueOnError)
	f.SetOutput(errs)
	names := f.String("systems", strings.Join(systemNames(), ","), "what is compared")
	at := f.String("settings", "default,fastest", "with which settings")
	given := f.String("fastest", "", "fastest settings that need not be found, such as raft=20ms,redis=100ms")
	of := f.String("kinds", strings.Join(kinds, ","), "how leaders go")
	f.IntVar(&s.trials, "trials", 100, "trials of each kind")
	f.IntVar(&s.slow, "slow-trials", 5, "trials of each kind where one takes longer than two seconds")
	f.DurationVar(&s.length, "for", time.Minute, "for how long nothing happens: while a fastest setting is looked for, and while the cost is measured; 0: not at all")
	f.DurationVar(&s.busy, "busy", time.Minute, "for how long processors are kept busy; 0: not at all")
	f.IntVar(&s.burners, "burners", 2*runtime.NumCPU(), "busy processes")
	f.IntVar(&s.blocks, "blocks", 4, "blocks into which the trials are divided: the systems take turns")
	where := f.String("hosts", "auto", "namespaces, loopback, or auto: namespaces if that is possible")
	f.StringVar(&s.bin, "bin", filepath.Dir(self), "where the candidates are")
	f.StringVar(&s.out, "out", "bin/peers/results", "where results go: peers.json, peers.md and plots")
	for name, usage := range map[string]string{"regent": "the command line of Regent", "etcd": "the server of etcd", "redis": "the server of Redis"} {
		f.Func(name, usage, func(v string) error {
			s.programs[map[string]string{"regent": "regent", "etcd": "etcd", "redis": "redis-server"}[name]] = v
			return nil
		})
	}
	f.StringVar(&s.render, "render", "", "measure nothing: write tables and plots of the peers.json in this directory beside it")
	f.BoolVar(&s.verbose, "v", false, "show every trial, and what processes write")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || s.trials < 0 || s.slow < 0 || s.length < 0 || s.busy < 0 || s.burners < 0 || s.blocks < 1 {
		return nil, errors.New("numbers must not be negative, there is a block at least, and there are no arguments")
	}
	var err error
	s.systems, err = pick(words(*names))
	if err != nil {
		return nil, err
	}
	if s.programs["regent"] == "" {
		s.programs["regent"] = filepath.Join(filepath.Dir(s.bin), "regent")
	}
	return s, errors.Join(s.roles(*at, *given), s.where(*where), s.ways(*of))
}

// words splits a list.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// roles reads with which settings systems run.
func (s *settings) roles(at, given string) error {
	for _, w := range words(at) {
		switch w {
		case "default":
			s.defaults = true
		case "fastest":
			s.fastest = true
		default:
			return fmt.Errorf("settings %q: there are default and fastest", w)
		}
	}
	for _, w := range words(given) {
		name, value, ok := strings.Cut(w, "=")
		i := slices.IndexFunc(systems(), func(x *system) bool { return x.name == name })
		if !ok || i < 0 {
			return fmt.Errorf("fastest %q: must be SYSTEM=SETTING", w)
		}
		if _, err := systems()[i].setting(value); err != nil {
			return err
		}
		s.given[name] = value
	}
	return nil
}

// where reads what the hosts are.
func (s *settings) where(hosts string) error {
	cannot := cluster.CanNamespaces()
	switch hosts {
	case "namespaces":
		s.apart = true
		return cannot
	case "auto":
		s.apart = cannot == nil
	case "loopback":
	default:
		return fmt.Errorf("hosts %q: there are namespaces, loopback and auto", hosts)
	}
	return nil
}

// ways reads how leaders go.
func (s *settings) ways(of string) error {
	for _, w := range words(of) {
		if !slices.Contains(kinds, w) {
			return fmt.Errorf("kind %q: there are %s", w, strings.Join(kinds, ", "))
		}
	}
	s.kinds = possible(words(of), s.apart)
	return nil
}

// slowest is the longest lease of settings that have all trials.
const slowest = 2 * time.Second

// trialsOf returns how many trials a setting has.
func (s *settings) trialsOf(x setting) int {
	if x.Length > slowest {
		return min(s.slow, s.trials)
	}
	return s.trials
}

// progress prints what happens, for a user who waits.
func (s *settings) progress(format string, args ...any) {
	fmt.Fprintf(s.log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// detail is progress that only some want to see.
func (s *settings) detail(format string, args ...any) {
	if s.verbose {
		s.progress(format, args...)
	}
}
