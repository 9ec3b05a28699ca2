package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/script"
	"github.com/regentproject/regent/sim/suite"
)

// fuzzer is one `sim fuzz`.
type fuzzer struct {
	name, variant  string
	elector        string
	members, seeds string
	seed           uint64
	length         time.Duration
	trace, script  string
	json           bool
	shrink         int
	options        []string

	protocol    *suite.Protocol
	few, many   uint64 // members
	first, last uint64 // seeds
}

func simFuzzCommand() *cobra.Command {
	f := &fuzzer{}
	c := &cobra.Command{
		Use:   "fuzz --protocol NAME",
		Short: "Run a protocol under random faults, and check every invariant on every event",
		Long: `Fuzz turns each seed into a random run: first things go wrong, then a part of the members is
healed and must converge. Every invariant of the protocol is checked on every event. It uses all cores.

It ends with the coverage: in how many seeds each thing happened that a run should have seen. A row
that the protocol should have and that no seed covered fails the run (of 100 seeds or more).

A violated invariant ends it with status 1, the seed, the command that replays it, and a short script
that still fails, for regent-sim run.`,
		Example: `  regent-sim fuzz --protocol rank
  regent-sim fuzz --protocol rank --members 3..7 --seeds 1..1000 --for 1m
  regent-sim fuzz --protocol rank --option timeout=60ms --option cap=60ms
  regent-sim fuzz --protocol stable --variant fig3
  regent-sim fuzz --protocol stack --elector hybrid
  regent-sim fuzz --protocol rank --seed 42 --trace trace.jsonl`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("seed") {
				f.seeds = fmt.Sprintf("%d..%d", f.seed, f.seed)
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.run(c)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.name, "protocol", "", "which protocol (regent-sim list shows all)")
	flags.StringVar(&f.variant, "variant", "", "which variant of it, where there are several (default: the one in production)")
	flags.StringVar(&f.elector, "elector", "", "which elector, for --protocol stack: "+strings.Join(suite.Electors(), ", ")+" (default: the one in production)")
	c.MarkFlagsMutuallyExclusive("variant", "elector")
	flags.StringVar(&f.members, "members", "", "how many members, such as 5 or 3..7 (default: what the protocol likes)")
	flags.StringVar(&f.seeds, "seeds", "1..100", "from which seed to which, both included")
	flags.Uint64Var(&f.seed, "seed", 0, "a single seed: short for --seeds N..N")
	c.MarkFlagsMutuallyExclusive("seed", "seeds")
	flags.DurationVar(&f.length, "for", 0, "simulated time of each seed (default: "+fuzz.DefaultFor.String()+", or what the protocol needs)")
	flags.StringVar(&f.trace, "trace", "", "write every event of a single seed to this file, as lines of JSON (docs/trace.md)")
	flags.StringVar(&f.script, "script", "", "write the script of a failure to this file instead of printing it")
	flags.IntVar(&f.shrink, "shrink", 2000, "how many runs to spend on making a failure short")
	flags.StringArrayVar(&f.options, "option", nil, "change how members are set up, such as timeout=100ms (regent-sim list shows all)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

// check reads the flags.
func (f *fuzzer) check() error {
	if f.name == "" {
		return errors.New("fuzz: no protocol: say which with --protocol; regent-sim list shows all")
	}
	if f.elector != "" {
		if f.name != "stack" {
			return fmt.Errorf("fuzz: --elector %s: only --protocol stack has one; say --variant where %s has several", f.elector, f.name)
		}
		f.variant = f.elector
	}
	var err error
	f.protocol, err = lookup(strings.TrimSpace(f.name + " " + f.variant))
	if err != nil {
		return fmt.Errorf("fuzz: %w", err)
	}
	f.protocol, err = f.protocol.With(f.options...)
	if err != nil {
		return fmt.Errorf("fuzz: --option %w", err)
	}
	if f.length == 0 {
		f.length = fuzz.LengthOf(f.protocol)
	}
	f.few, f.many = uint64(f.protocol.Members), uint64(f.protocol.Members)
	if f.members != "" {
		f.few, f.many, err = span(f.members)
		if err != nil || f.many > math.MaxInt32 {
			return fmt.Errorf("fuzz: --members %s: expected a number such as 5, or 3..7", f.members)
		}
	}
	f.first, f.last, err = span(f.seeds)
	if err != nil {
		return fmt.Errorf("fuzz: --seeds %s: expected two numbers such as 1..1000, or one", f.seeds)
	}
	if f.trace != "" && (f.first != f.last || f.few != f.many) {
		return errors.New("fuzz: --trace: takes a single seed and number of members, such as --seed 42")
	}
	return nil
}

// span reads 3..7, or 5 for 5..5.
func span(s string) (lo, hi uint64, err error) {
	from, to, both := strings.Cut(s, "..")
	if !both {
		to = from
	}
	if lo, err = strconv.ParseUint(from, 10, 64); err != nil {
		return 0, 0, err
	}
	if hi, err = strconv.ParseUint(to, 10, 64); err != nil {
		return 0, 0, err
	}
	if hi < lo {
		return 0, 0, fmt.Errorf("%s: the first exceeds the last", s)
	}
	return lo, hi, nil
}

func (f *fuzzer) run(c *cobra.Command) error {
	if err := f.writeTrace(); err != nil {
		return err
	}
	sum := &fuzzReport{Protocol: f.protocol.Name, Members: f.members, Seeds: f.seeds, For: f.length.String(), began: time.Now()}
	if sum.Members == "" {
		sum.Members = strconv.FormatUint(f.few, 10)
	}
	for n := f.few; n <= f.many && sum.failure == nil; n++ {
		p := newProgress(c, fmt.Sprintf("%s, %d members", f.protocol.Name, n))
		r, err := fuzz.Range(c.Context(), f.protocol, fuzz.Options{
			Members: int(n), First: f.first, Last: f.last, For: f.length, Progress: p.show,
		})
		p.end()
		if r != nil {
			sum.add(r)
		}
		switch {
		case errors.Is(err, context.Canceled):
			sum.print(c, f.json)
			return cli.Failf("fuzz: interrupted after %s", cli.Count(int(sum.Runs), "seed"))
		case err != nil:
			return fmt.Errorf("fuzz: %w", err)
		}
		if r.Failure != nil {
			sum.members = int(n)
		}
	}
	return f.finish(c, sum)
}

// writeTrace plays a single seed once more than needed, for its trace.
func (f *fuzzer) writeTrace() error {
	if f.trace == "" {
		return nil
	}
	return withTrace(f.trace, func(o ...sim.Observer) error {
		_, _, err := fuzz.Seed(f.protocol, int(f.few), f.first, f.length, o...)
		return err
	})
}

// finish shrinks a failure and reports.
func (f *fuzzer) finish(c *cobra.Command, sum *fuzzReport) error {
	if sum.failure != nil {
		if err := f.explain(sum); err != nil {
			return err
		}
	}
	if err := sum.print(c, f.json); err != nil {
		return err
	}
	switch {
	case sum.Failure != nil:
		return cli.Failf("%s: seed %d\nreplay: %s", sum.Failure.Text, sum.Failure.Seed, sum.Failure.Replay)
	case len(sum.missing()) > 0:
		return cli.Failf("coverage: no seed covered: %s\nrun more seeds; if that does not help, what the suite draws for %s must change",
			strings.Join(sum.missing(), ", "), f.protocol.Name)
	}
	return nil
}

// explain shrinks the failure and writes it down.
func (f *fuzzer) explain(sum *fuzzReport) error {
	fail := sum.failure
	which := "--protocol " + f.name
	switch {
	case f.elector != "":
		which += " --elector " + f.elector
	case f.variant != "":
		which += " --variant " + f.variant
	}
	replay := fmt.Sprintf("regent-sim fuzz %s --members %d --seeds %d..%d --for %v", which, sum.members, fail.Seed, fail.Seed, f.length)
	for _, o := range f.options {
		replay += " --option " + o
	}
	plan, run, err := fuzz.Shrink(f.protocol, fail.Plan, f.shrink)
	if err != nil {
		return fmt.Errorf("fuzz: %w", err)
	}
	text := script.Render(&plan, fmt.Sprintf("%v.\nMade short from: %s", run.Err, replay), f.options...)
	sum.Failure = &fuzzFailure{
		Invariant: fail.Name, Seed: fail.Seed, Members: sum.members, Text: fail.Err.Error(), Replay: replay, Script: text,
	}
	if f.script != "" {
		if err := os.WriteFile(f.script, []byte(text), 0o644); err != nil {
			return fmt.Errorf("fuzz: %w", err)
		}
		sum.Failure.ScriptFile = f.script
	}
	return nil
}
