package fuzz

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Options say which seeds to run, and how.
type Options struct {
	Members int
	// First and Last seed, both included.
	First, Last uint64
	// For is how much simulated time each seed takes.
	For time.Duration
	// Workers is how many run at once; zero: one for each core.
	Workers int
	// Progress, if not nil, is called from time to time with how many seeds are done, from one goroutine at a time.
	Progress func(done, total uint64)
}

// DefaultFor is how much simulated time a seed takes by default, of a protocol that needs no more.
const DefaultFor = 30 * time.Second

// LengthOf returns how much simulated time a seed of p takes by default.
func LengthOf(p *suite.Protocol) time.Duration { return max(DefaultFor, leastFor(p)) }

// leastFor returns how long the shortest run of p is: the second half of it is the time to converge.
func leastFor(p *suite.Protocol) time.Duration { return 2 * (p.Settle + window) }

// GCPercent is how much a program that runs seeds lets garbage grow (runtime/debug.SetGCPercent): a world is small, and
// most of what it allocates is garbage after one event.
const GCPercent = 400

// EnoughSeeds is how many seeds a range must have before its coverage is held against it: fewer may miss a row by
// chance.
const EnoughSeeds = 100

// A Result is what came of a range of seeds.
type Result struct {
	Protocol *suite.Protocol
	Options  Options
	// Seeds is how many were run to their end; Failure is the lowest seed that violated an invariant, nil if none did.
	Seeds    uint64
	Failure  *Failure
	Coverage []Row
	Stats    sim.Stats
}

// A Failure is a seed that violated an invariant.
type Failure struct {
	Seed uint64
	Name string // of the invariant
	Err  error
	Plan Plan
}

// A Row is in how many seeds something happened.
type Row struct {
	Name  string
	Seeds uint64
	// Required says that the protocol should have it.
	Required bool
}

// Missing returns the rows that the protocol should have and that no seed covered. It returns nothing for ranges of
// fewer than EnoughSeeds.
func (r *Result) Missing() []string {
	if r.Seeds < EnoughSeeds {
		return nil
	}
	var names []string
	for _, row := range r.Coverage {
		if row.Required && row.Seeds == 0 {
			names = append(names, row.Name)
		}
	}
	return names
}

// Error returns what is wrong with the result: a violated invariant, or rows that were not covered. Nil if nothing is.
func (r *Result) Error() error {
	if r.Failure != nil {
		return fmt.Errorf("seed %d: %w", r.Failure.Seed, r.Failure.Err)
	}
	if missing := r.Missing(); len(missing) > 0 {
		return fmt.Errorf("coverage: no seed of %d covered: %s", r.Seeds, strings.Join(missing, ", "))
	}
	return nil
}

// Seed draws the plan of one seed and plays it.
func Seed(p *suite.Protocol, members int, seed uint64, length time.Duration, observers ...sim.Observer) (Plan, Run, error) {
	pl, err := Draw(p, members, seed, length)
	if err != nil {
		return pl, Run{}, err
	}
	run, err := Play(p, &pl, observers...)
	return pl, run, err
}

// Range runs seeds on all cores until one fails or the context ends. Of several failing seeds the lowest is reported, so
// that the same range gives the same answer however many run at once.
func Range(ctx context.Context, p *suite.Protocol, o Options) (*Result, error) {
	if o.Last < o.First {
		return nil, fmt.Errorf("fuzz: seeds %d..%d: the first must not exceed the last", o.First, o.Last)
	}
	if _, err := Draw(p, o.Members, o.First, o.For); err != nil {
		return nil, err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	r := &Result{Protocol: p, Options: o, Coverage: rowsOf(p, o.Members)}
	g := workers{result: r, next: o.First, ctx: ctx}
	g.limit.Store(o.Last)
	var wait sync.WaitGroup
	for range o.Workers {
		wait.Go(g.work)
	}
	wait.Wait()
	if g.err != nil {
		return nil, g.err
	}
	return r, ctx.Err()
}

// rowsOf lists the rows that runs of p are counted for. A council of one has no links and nobody to change to, so nothing
// is required of it; nor is a row that takes more members than there are.
func rowsOf(p *suite.Protocol, members int) []Row {
	names := slices.Clone(suite.Rows)
	for _, own := range p.Rows {
		if !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	rows := make([]Row, len(names))
	for i, name := range names {
		rows[i] = Row{Name: name, Required: members >= max(2, p.Least[name]) && slices.Contains(p.Rows, name)}
	}
	return rows
}

// A workers of workers shares a range of seeds.
type workers struct {
	ctx    context.Context
	limit  atomic.Uint64 // the last seed worth running: falls when one fails
	mu     sync.Mutex    // guards all below
	next   uint64
	result *Result
	err    error
}

// take returns the next seed to run.
func (g *workers) take() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil || g.ctx.Err() != nil || g.next > g.limit.Load() || g.next == 0 && g.result.Options.First != 0 {
		return 0, false
	}
	seed := g.next
	g.next++
	return seed, true
}

func (g *workers) work() {
	o := &g.result.Options
	for {
		seed, ok := g.take()
		if !ok {
			return
		}
		pl, run, err := Seed(g.result.Protocol, o.Members, seed, o.For)
		g.add(seed, pl, &run, err)
	}
}

// add counts one run.
func (g *workers) add(seed uint64, pl Plan, run *Run, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.err = err
		return
	}
	r := g.result
	r.Seeds++
	add(&r.Stats, &run.Stats)
	for i := range r.Coverage {
		if run.Cover.Covered(r.Coverage[i].Name) {
			r.Coverage[i].Seeds++
		}
	}
	if run.Err != nil && (r.Failure == nil || seed < r.Failure.Seed) {
		r.Failure = &Failure{Seed: seed, Name: run.Violated(), Err: run.Err, Plan: pl}
		g.limit.Store(min(g.limit.Load(), seed))
	}
	if r.Options.Progress != nil {
		r.Options.Progress(r.Seeds, r.Options.Last-r.Options.First+1)
	}
}

func add(sum, one *sim.Stats) {
	sum.Events += one.Events
	sum.Steps += one.Steps
	sum.Ticks += one.Ticks
	sum.Records += one.Records
	sum.Sent += one.Sent
	sum.Delivered += one.Delivered
	sum.Lost += one.Lost
	sum.Late += one.Late
	sum.Duplicated += one.Duplicated
	sum.Refused += one.Refused
}
