package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/script"
)

// played is what came of a script, for programs to read.
type played struct {
	File      string       `json:"file"`
	Title     string       `json:"title"`
	Protocol  string       `json:"protocol"`
	Members   int          `json:"members"`
	Seed      uint64       `json:"seed"`
	OK        bool         `json:"ok"`
	Checks    int          `json:"checks"`
	End       sim.Real     `json:"end"`
	Events    uint64       `json:"events"`
	Steps     []playedStep `json:"steps"`
	Failures  []position   `json:"failures"`
	Violation *violation   `json:"violation,omitempty"`
}

// playedStep is a statement with what it printed. T is the instant at its end, in nanoseconds.
type playedStep struct {
	Line      int      `json:"line"`
	T         sim.Real `json:"t"`
	Statement string   `json:"statement"`
	Printed   []string `json:"printed"`
}

type position struct {
	Line int    `json:"line"`
	Col  int    `json:"col"`
	Text string `json:"text"`
}

type violation struct {
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
	Line      int    `json:"line,omitempty"`
}

func simRunCommand() *cobra.Command {
	r := &scriptRunner{}
	c := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Play a scenario script",
		Long: `Run plays a scenario script: who takes part, what goes wrong when, and what the members are
expected to believe afterwards. SCENARIO is a file, - for standard input, or the name of an embedded
scenario, which regent-sim scenarios lists.

It ends with status 1 if an expectation is not met or an invariant of the protocol is violated,
and with status 2 if the script is wrong; then it says in which line and column, and what
would be right. docs/simulator.md teaches the language.`,
		Example: `  regent-sim run scenario.txt
  regent-sim run hall/fig1
  regent-sim run scenario.txt --seed 7 --trace trace.jsonl
  regent-sim run scenario.txt --rewrite
  printf 'protocol rank\nmembers 3\nrun 1s\ncrash a\nrun 1s\n' | regent-sim run -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("run: %d files: name one script, or - for standard input", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			r.seeded = c.Flags().Changed("seed")
			return r.run(c, args[0])
		},
	}
	c.Flags().Uint64Var(&r.seed, "seed", 0, "use this seed instead of the script's")
	c.Flags().StringVar(&r.trace, "trace", "", "write every event to this file, as lines of JSON (docs/trace.md)")
	c.Flags().BoolVar(&r.json, "json", false, "print JSON")
	c.Flags().BoolVar(&r.rewrite, "rewrite", false, "put what the script prints in the place of what it expects")
	return c
}

// scriptRunner is one `sim run`.
type scriptRunner struct {
	file    string // as it was named: the report calls - stdin
	seed    uint64
	seeded  bool
	trace   string
	json    bool
	rewrite bool
}

func (r *scriptRunner) run(c *cobra.Command, file string) error {
	r.file = file
	if r.rewrite && file == "-" {
		return errors.New("run: --rewrite: standard input cannot be rewritten: name a file")
	}
	name, text, err := readScript(c, file)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if r.rewrite && name != file {
		return fmt.Errorf("run: --rewrite: %s is embedded and cannot be rewritten: name a file", name)
	}
	s, err := script.Parse(name, text)
	if err != nil {
		return &cli.Complete{Err: fmt.Errorf("this script cannot be played\n%w", err)}
	}
	o, err := r.options(s)
	if err != nil {
		return err
	}
	report := played{File: name, Title: s.Title, Protocol: s.Protocol, Members: s.Members, Steps: []playedStep{}, Failures: []position{}}
	w := &progressObserver{ctx: c.Context(), progress: newProgress(c, name)}
	o.Each = func(at sim.Real, step *script.Step, printed []string) {
		w.progress.end()
		report.Steps = append(report.Steps, playedStep{step.Line, at, step.Text, append([]string{}, printed...)})
		if !r.json {
			printStep(c, at, step, printed)
		}
	}
	if !r.json && s.Title != "" {
		fmt.Fprintln(c.OutOrStdout(), s.Title)
	}
	var result *script.Result
	err = withTrace(r.trace, func(observers ...sim.Observer) error {
		o.Observers = append(observers, w)
		result, err = script.Play(s, o)
		return err
	})
	w.progress.end()
	switch {
	case err != nil:
		return err
	case c.Context().Err() != nil:
		return cli.Failf("run: interrupted at %v of simulated time", time.Duration(result.End))
	}
	if r.rewrite && result.Violation == nil {
		return r.rewriteFile(c, s, result)
	}
	return r.finish(c, &report, result)
}

// recordsPerCheck is after how many records a run shows how far it is, and looks whether it was interrupted.
const recordsPerCheck = 4096

// progressObserver shows how far a long run is, and ends it if its context ends.
type progressObserver struct {
	ctx      context.Context
	progress *progress
	records  uint
}

// Observe shows the progress and checks the context once in recordsPerCheck records.
func (w *progressObserver) Observe(r *sim.Record) error {
	if w.records++; w.records%recordsPerCheck != 0 {
		return nil
	}
	w.progress.say(func(time.Duration) string {
		return fmt.Sprintf("%s: %v simulated so far", w.progress.what, time.Duration(r.T).Round(time.Second))
	})
	return w.ctx.Err()
}

// options are how the script is played.
func (r *scriptRunner) options(s *script.Script) (script.Options, error) {
	p, err := lookup(s.Protocol)
	o := script.Options{Protocol: p}
	if r.seeded {
		o.Seed = &r.seed
	}
	return o, err
}

// printStep shows a statement and what it printed.
func printStep(c *cobra.Command, at sim.Real, step *script.Step, printed []string) {
	out := c.OutOrStdout()
	fmt.Fprintf(out, "%12v  %s\n", time.Duration(at).Round(time.Microsecond), step.Text)
	for _, line := range printed {
		fmt.Fprintf(out, "%12s    %s\n", "", line)
	}
}

// rewriteFile changes what the script expects.
func (r *scriptRunner) rewriteFile(c *cobra.Command, s *script.Script, result *script.Result) error {
	if err := os.WriteFile(s.Name, s.Rewrite(result), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: rewritten; read the difference before you keep it\n", s.Name)
	return nil
}

// finish reports what came of it.
func (r *scriptRunner) finish(c *cobra.Command, report *played, result *script.Result) error {
	report.Seed, report.OK, report.Checks = result.Seed, result.OK(), result.Checks
	report.End, report.Events = result.End, result.Stats.Events
	for _, f := range result.Failures {
		report.Failures = append(report.Failures, position{f.Line, f.Col, f.Msg})
	}
	if result.Violation != nil {
		report.Violation = &violation{result.Violated(), result.Violation.Error(), result.At.Line}
	}
	if r.json {
		if err := cli.WriteJSON(c, report); err != nil {
			return err
		}
	}
	if err := result.Err(report.File); err != nil {
		return cli.Failf("%w\n%s", err, r.advice(report))
	}
	if !r.json {
		fmt.Fprintf(c.OutOrStdout(), "ok: %s met, no invariant violated; %v simulated, %d events, seed %d\n",
			cli.Count(result.Checks, "expectation"), time.Duration(result.End).Round(time.Microsecond), result.Stats.Events, result.Seed)
	}
	return nil
}

// advice says what to do about a failure.
func (r *scriptRunner) advice(report *played) string {
	var b strings.Builder
	if report.Violation != nil {
		fmt.Fprintf(&b, "%s: %s is violated, seed %d\n", report.File, report.Violation.Invariant, report.Seed)
	} else {
		fmt.Fprintf(&b, "%s: %s not met, seed %d\n", report.File, cli.Count(len(report.Failures), "expectation"), report.Seed)
	}
	replay := fmt.Sprintf("regent-sim run %s --seed %d", r.file, report.Seed)
	if r.trace == "" {
		fmt.Fprintf(&b, "to see every event: %s --trace trace.jsonl", replay)
	} else {
		fmt.Fprintf(&b, "every event is in %s; to play it again: %s", r.trace, replay)
	}
	return b.String()
}
