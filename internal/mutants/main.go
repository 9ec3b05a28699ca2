// Command mutants shows that the tests and the checkers can fail. It breaks production code in known ways, one at a
// time, and demands that the named test then fails and that its output names the invariant that was broken.
//
//	mutant.go   what a mutant is, how one is written down, and how it is applied
//	run.go      running the commands, without and with the mutant
//	report.go   progress and the table
//
// A mutant reaches the compiler through a build overlay: the files in the tree are never touched, and production code
// has no switch for it. CONTRIBUTING.md says how to write one.
//
// Usage:
//
//	go run ./internal/mutants [--quick] [-j N] [--timeout D] [DIRECTORY | DIRECTORY/NAME]...
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
	"time"
)

// Exit codes.
const (
	allCaught = iota
	someSurvived
	badUsage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, ".", os.Args[1:], os.Stdout, os.Stderr))
}

// run does everything that the command does, for a tree at root.
func run(ctx context.Context, root string, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: mutants [--quick] [-j N] [--timeout D] [DIRECTORY | DIRECTORY/NAME]...")
		flags.PrintDefaults()
	}
	quick := flags.Bool("quick", false, "run one mutant of each invariant; see that all the others still apply")
	jobs := flags.Int("j", runtime.GOMAXPROCS(0), "how many to run at once")
	timeout := flags.Duration("timeout", 3*time.Minute, "how long one command may take")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return allCaught
	case err != nil:
		return badUsage
	case *jobs < 1:
		fmt.Fprintf(stderr, "mutants: -j %d: must be at least 1\n", *jobs)
		return badUsage
	}
	mutants, err := ReadAll(root)
	if err != nil {
		fmt.Fprintf(stderr, "mutants: %v\n", err)
		return badUsage
	}
	chosen, err := choose(mutants, flags.Args(), *quick)
	if err != nil {
		fmt.Fprintf(stderr, "mutants: %v\n", err)
		return badUsage
	}
	r := newRunner(root, *timeout, names(mutants))
	defer r.close()
	results := r.runAll(ctx, chosen, *jobs, stderr)
	if *quick {
		// What is not run is at least applied: a mutant that no longer fits the code should be noticed by who changed it.
		for _, m := range mutants {
			if _, err := m.Apply(root); err != nil && !slices.Contains(chosen, m) {
				results = append(results, Result{Mutant: m, Outcome: Broken, Detail: err.Error()})
			}
		}
	}
	return report(results, stdout)
}

// choose returns the mutants that the arguments name, or all; if quick, of these one for each invariant.
func choose(all []*Mutant, filters []string, quick bool) ([]*Mutant, error) {
	for _, f := range filters {
		if !slices.ContainsFunc(all, func(m *Mutant) bool { return m.matches(f) }) {
			return nil, fmt.Errorf("no mutant is called %s: name a directory under mutants/, or directory/name", f)
		}
	}
	var chosen []*Mutant
	for _, m := range all {
		if len(filters) == 0 || slices.ContainsFunc(filters, m.matches) {
			chosen = append(chosen, m)
		}
	}
	if quick {
		chosen = onePerInvariant(chosen)
	}
	return chosen, nil
}

// onePerInvariant returns the first mutant of each invariant that a test catches; the first of all where only a longer command does.
func onePerInvariant(mutants []*Mutant) []*Mutant {
	best := map[string]*Mutant{}
	for _, m := range mutants {
		if old := best[m.CaughtBy]; old == nil || !old.byTest() && m.byTest() {
			best[m.CaughtBy] = m
		}
	}
	return slices.DeleteFunc(mutants, func(m *Mutant) bool { return strings.HasPrefix(m.CaughtBy, "Test") || best[m.CaughtBy] != m })
}

// byTest reports whether the command is a test as make test runs it, without a longer run of its own.
func (m *Mutant) byTest() bool {
	return strings.HasPrefix(m.Test, "go test ") && !strings.Contains(m.Test, ".seeds")
}

// names returns everything that some mutant must be caught by, each once.
func names(mutants []*Mutant) []string {
	var all []string
	for _, m := range mutants {
		all = append(all, m.CaughtBy)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// matches says whether a filter names the mutant or its directory.
func (m *Mutant) matches(filter string) bool {
	filter = strings.TrimSuffix(strings.TrimPrefix(filter, "mutants/"), "/")
	return filter == m.Dir || strings.TrimSuffix(filter, extension) == m.String()
}
