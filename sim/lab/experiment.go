// Package lab reproduces the figures, tables and theorems of the papers that the protocols come from, on the protocols as
// they are built here. An [Experiment] is one of them: what the paper claims, how to measure it, and where we differ. The list
// is All; a [Report] is what came of one, for people, as JSON, as SVG and as HTML.
//
//	experiment.go  the list, and how one is run   report.go   what came of it: text, JSON
//	chart.go       curves as SVG                  html.go     all reports on one page
//	hall*.go, nerio*.go, stable*.go, timefree*.go, rain*.go   the experiments of each paper
package lab

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// An Experiment measures one claim of a paper.
type Experiment struct {
	// Name is what the experiment is called on the command line: the paper, and the figure, table or theorem.
	Name string
	// Paper is its short name, and Where the place in it.
	Paper, Where string
	// Title is what is measured, in a line.
	Title string
	// Claim is what the paper states, and Differs where the protocol or the measurement is not the paper's, and why.
	Claim, Differs string
	run            func(*run, *Report) error
}

// Settings say how experiments are run.
type Settings struct {
	// Seed is what all randomness comes from: the same seed gives the same report.
	Seed uint64
	// Quick takes few samples: seconds for all experiments, and less precise.
	Quick bool
	// Progress, if not nil, is called with how many parts of an experiment are done, from one goroutine at a time.
	Progress func(done, total int)
}

// All returns the experiments in the order of the report.
func All() []*Experiment {
	var all []*Experiment
	for _, paper := range [][]*Experiment{hallExperiments(), nerioExperiments(), stableExperiments(), timefreeExperiments(), rainExperiments()} {
		all = append(all, paper...)
	}
	return all
}

// Missing lists what the papers measure and no experiment does, with the reason.
var Missing = []string{
	"HALL Fig. 25 to 29 on the hardware of 1997. The simulator gives hosts costs for sending and receiving instead.",
}

// Run runs an experiment. The error says why it could not be run; a claim that does not hold is in the report.
func (e *Experiment) Run(ctx context.Context, s Settings) (*Report, error) {
	r := &Report{Name: e.Name, Paper: e.Paper, Where: e.Where, Title: e.Title, Claim: e.Claim, Differs: e.Differs, Seed: s.Seed, Quick: s.Quick}
	began := time.Now()
	if err := e.run(&run{Settings: s, ctx: ctx}, r); err != nil {
		return nil, fmt.Errorf("lab: %s: %w", e.Name, err)
	}
	r.Took = time.Since(began).Milliseconds()
	return r, nil
}

// A run is one experiment under way.
type run struct {
	Settings
	ctx context.Context
}

// pick returns the size of a sample.
func (r *run) pick(quick, full int) int {
	if r.Quick {
		return quick
	}
	return full
}

// each calls f for 0 to n-1 on all cores and returns what it returned, in that order: worlds share nothing, so the result does
// not depend on how many run at once. It ends at the first error, and when the context ends.
func each[T any](r *run, n int, f func(i int) (T, error)) ([]T, error) {
	var (
		all   = make([]T, n)
		mu    sync.Mutex // guards all below
		next  int
		done  int
		first error
		wait  sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = r.ctx.Err()
		}
		next++
		return next - 1, first == nil && next <= n
	}
	finish := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if first == nil {
			first = err
		}
		if r.Progress != nil {
			r.Progress(done, n)
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				var err error
				all[i], err = f(i)
				finish(err)
			}
		})
	}
	wait.Wait()
	return all, first
}
