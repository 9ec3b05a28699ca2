package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// An attempt is one run of a target.
type attempt struct {
	executions, inputs uint64
	cpu                time.Duration
	// failed says that an input broke the target, and late that the fuzzer only missed its own deadline, which it does on a busy host.
	failed, late bool
	text         string
}

// A row is what was done with one target.
type row struct {
	Package    string  `json:"package"`
	Target     string  `json:"target"`
	Executions uint64  `json:"executions"`
	NewInputs  uint64  `json:"new_inputs"`
	CPUSeconds float64 `json:"cpu_seconds"`
	// Result is empty until the target has had its time.
	Result string `json:"result,omitempty"`
	// Commit is the tree at the last attempt, and Date when that ended.
	Commit string    `json:"commit"`
	Date   time.Time `json:"date"`
}

// The results of a row.
const (
	passed = "ok"
	broken = "failed"
)

// A campaign gives each target its processor time.
type campaign struct {
	cpu    time.Duration
	commit string
	out    io.Writer
	fuzz   func(context.Context, target, time.Duration) (attempt, error)
	now    func() time.Time
	save   func([]row) error
	rows   []row
}

// shortest is the shortest attempt. The fuzzer begins each with the inputs that it has.
const shortest = time.Second

// run runs all targets that lack time. It goes on after one that fails.
func (c *campaign) run(ctx context.Context, targets []target) error {
	var errs []error
	for _, t := range targets {
		r := c.row(t)
		if r.Result == passed && r.Executions > 0 && r.CPUSeconds >= c.cpu.Seconds() {
			continue
		}
		text, err := c.complete(ctx, t, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%-24s %-20s %12d executions %6d new inputs %8.1f s of CPU  %s\n", t.rel, t.name, r.Executions, r.NewInputs, r.CPUSeconds, r.Result)
		if r.Result == broken {
			fmt.Fprintln(c.out, text)
			errs = append(errs, fmt.Errorf("%s %s failed (commit the input below testdata/fuzz with the fix)", t.rel, t.name))
		}
	}
	return errors.Join(errs...)
}

// row finds the row of a target, or makes one.
func (c *campaign) row(t target) *row {
	at := slices.IndexFunc(c.rows, func(r row) bool { return r.Package == t.rel && r.Target == t.name })
	if at < 0 {
		at = len(c.rows)
		c.rows = append(c.rows, row{Package: t.rel, Target: t.name})
	}
	return &c.rows[at]
}

// complete fuzzes a target until it has had its time, or fails. An attempt is as long as the time that is left: on a busy host it gets
// less, and another follows. It returns the output of an attempt that fails.
func (c *campaign) complete(ctx context.Context, t target, r *row) (string, error) {
	if r.Result == broken || r.Executions == 0 { // what it did before the fix proves nothing, nor does time without executions
		*r = row{Package: r.Package, Target: r.Target}
	}
	r.Result = ""
	var last attempt
	for {
		left := c.cpu - time.Duration(r.CPUSeconds*float64(time.Second))
		if left <= 0 {
			if r.Executions == 0 {
				r.Result = broken
				return last.text + "\nno input was executed", c.save(c.rows)
			}
			r.Result = passed
			return "", c.save(c.rows)
		}
		a, err := c.fuzz(ctx, t, max(shortest, left.Round(time.Millisecond)))
		if err != nil {
			return "", err
		}
		last = a
		r.Executions += a.executions
		r.NewInputs += a.inputs
		r.CPUSeconds += a.cpu.Seconds()
		r.Commit, r.Date = c.commit, c.now().UTC().Round(time.Second)
		if a.failed {
			r.Result = broken
			return a.text, c.save(c.rows)
		}
		if err := errors.Join(c.save(c.rows), ctx.Err()); err != nil {
			return "", err
		}
	}
}
