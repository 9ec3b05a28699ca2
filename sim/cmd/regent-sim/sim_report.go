package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim/fuzz"
)

// fuzzReport is what came of a `sim fuzz`, for people and for programs.
type fuzzReport struct {
	Protocol string       `json:"protocol"`
	Members  string       `json:"members"`
	Seeds    string       `json:"seeds"`
	For      string       `json:"for"`
	Runs     uint64       `json:"runs"`
	Events   uint64       `json:"events"`
	Coverage []fuzzRow    `json:"coverage"`
	Failure  *fuzzFailure `json:"failure,omitempty"`

	began   time.Time
	failure *fuzz.Failure
	members int // of the failure
}

// fuzzRow is in how many runs something happened.
type fuzzRow struct {
	Row      string `json:"row"`
	Runs     uint64 `json:"runs"`
	Required bool   `json:"required"`
}

type fuzzFailure struct {
	Invariant  string `json:"invariant"`
	Seed       uint64 `json:"seed"`
	Members    int    `json:"members"`
	Text       string `json:"text"`
	Replay     string `json:"replay"`
	Script     string `json:"script"`
	ScriptFile string `json:"scriptFile,omitempty"`
}

// add counts what came of a range.
func (r *fuzzReport) add(one *fuzz.Result) {
	r.Runs += one.Seeds
	r.Events += one.Stats.Events
	if r.Coverage == nil {
		for _, row := range one.Coverage {
			r.Coverage = append(r.Coverage, fuzzRow{Row: row.Name, Required: row.Required})
		}
	}
	for i, row := range one.Coverage {
		r.Coverage[i].Runs += row.Seeds
	}
	r.failure = one.Failure
}

// missing returns rows that should have been covered and were not. Few runs may miss some by chance.
func (r *fuzzReport) missing() []string {
	if r.Runs < fuzz.EnoughSeeds {
		return nil
	}
	var names []string
	for _, row := range r.Coverage {
		if row.Required && row.Runs == 0 {
			names = append(names, row.Row)
		}
	}
	return names
}

// print shows the report.
func (r *fuzzReport) print(c *cobra.Command, asJSON bool) error {
	if asJSON {
		return cli.WriteJSON(c, r)
	}
	out := c.OutOrStdout()
	fmt.Fprintf(out, "coverage of %s, %s members, seeds %s, %s each:\n", r.Protocol, r.Members, r.Seeds, r.For)
	width := 32
	for _, row := range r.Coverage {
		width = max(width, len(row.Row))
	}
	for _, row := range r.Coverage {
		note := ""
		switch {
		case row.Runs == 0 && !row.Required:
			note = "  (does not apply)"
		case row.Runs == 0 && r.Runs < fuzz.EnoughSeeds:
			note = fmt.Sprintf("  (not held against fewer than %d seeds)", fuzz.EnoughSeeds)
		case row.Runs == 0:
			note = "  MISSING"
		}
		fmt.Fprintf(out, "  %-*s %7d  %5.1f%%%s\n", width, row.Row, row.Runs, 100*float64(row.Runs)/float64(max(1, r.Runs)), note)
	}
	if f := r.Failure; f != nil {
		r.printFailure(out)
		return nil
	}
	took := time.Since(r.began)
	fmt.Fprintf(out, "%s without a violation: %d events in %v\n", cli.Count(int(r.Runs), "run"), r.Events, took.Round(time.Millisecond))
	return nil
}

// printFailure shows the script of the failure, or where it is.
func (r *fuzzReport) printFailure(out io.Writer) {
	if f := r.Failure; f.ScriptFile != "" {
		fmt.Fprintf(out, "%s is violated; play its short script: regent-sim run %s\n", f.Invariant, f.ScriptFile)
	} else {
		fmt.Fprintf(out, "%s is violated; this script, for regent-sim run, shows it:\n\n%s\n", f.Invariant, f.Script)
	}
}

// How often progress is shown: in a log, and on a terminal.
const (
	logEvery    = 10 * time.Second
	redrawEvery = 100 * time.Millisecond
)

// progress shows how far a long run is: on a terminal all the time, elsewhere now and then.
type progress struct {
	out   io.Writer
	what  string
	tty   bool
	began time.Time
	last  time.Time
	shown bool
}

func newProgress(c *cobra.Command, what string) *progress {
	p := &progress{out: c.ErrOrStderr(), what: what, began: time.Now()}
	if f, ok := p.out.(*os.File); ok {
		p.tty = term.IsTerminal(int(f.Fd()))
	}
	p.last = p.began
	return p
}

// show is a fuzz.Options.Progress.
func (p *progress) show(done, total uint64) {
	p.say(func(took time.Duration) string {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		return fmt.Sprintf("%s: %d of %d seeds, about %v left", p.what, done, total, left.Round(time.Second))
	})
}

// say shows a text, made from how long it has taken so far, if enough time has passed since the last one.
func (p *progress) say(text func(took time.Duration) string) {
	now := time.Now()
	every := logEvery
	if p.tty {
		every = redrawEvery
	}
	if now.Sub(p.last) < every {
		return
	}
	p.last, p.shown = now, true
	if p.tty {
		fmt.Fprintf(p.out, "\r%s\x1b[K", text(now.Sub(p.began)))
	} else {
		fmt.Fprintln(p.out, text(now.Sub(p.began)))
	}
}

// end clears the line.
func (p *progress) end() {
	if p.tty && p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
