package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/regentproject/regent/agent/plan"
)

// measureOnce runs regent plan and returns what it measured.
func measureOnce(ctx context.Context, s settings, length time.Duration) (*plan.Measured, *plan.Plan, error) {
	c := exec.CommandContext(ctx, s.regent, "plan", "--json", "--busy=false", "--measure", length.String(), "--round-trip", "20ms")
	c.Stderr = os.Stderr
	if !s.verbose {
		c.Stderr = nil
	}
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // the plan is not safe, which is an answer
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s plan: %w", s.regent, err)
	}
	var r struct {
		Measured plan.Measured
		Plan     plan.Plan
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, nil, fmt.Errorf("%s plan: %w", s.regent, err)
	}
	return &r.Measured, &r.Plan, nil
}

// bounds compares the bounds of a plan with what comes after it, under the same load. At a confidence of 95 % the number of pauses that a bound allows
// is exceeded now and then: a run has more than its rate allows by chance, and one bound of twenty is wrong. A bound is about a host that goes on as it was.
// So each run is also compared with the bound that follows from the run before it: where many runs exceed the plan's and few exceed their
// predecessor's, the load of the host has changed since the plan.
func bounds(ctx context.Context, s settings, out io.Writer) error {
	stop, err := burnAll(ctx, s.load)
	if err != nil {
		return err
	}
	defer stop()
	if err := sleep(ctx, s.settle); err != nil {
		return err
	}
	first, p, err := measureOnce(ctx, s, s.planFirst)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nregent plan beside %d busy processes, measured for %v: a lease of %v survives pauses of %s\n", s.load, s.planFirst, lease(p), plan.Length(p.Tolerates))
	rows := thresholds(first, p)
	for i := range s.planRuns {
		m, _, err := measureOnce(ctx, s, s.planRun)
		if err != nil {
			return fmt.Errorf("run %d: %w", i+1, err)
		}
		for j := range rows {
			rows[j].compare(m)
		}
	}
	fmt.Fprintf(out, "  %-16s %10s %16s   %-16s %-22s %s\n", "thread", "above", "allowed in a run", "runs above that", "above the run before's", "seen in each run")
	wrong := 0
	for _, r := range rows {
		fmt.Fprintf(out, "  %-16s %10s %16.1f   %-16s %-22s %v\n", r.thread, plan.Length(r.above), r.allowed, fmt.Sprintf("%d of %d", r.over, len(r.seen)),
			fmt.Sprintf("%d of %d", r.overBefore, len(r.seen)), r.seen)
		if 2*r.over > len(r.seen) {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d bounds were exceeded by most runs", wrong, len(rows))
	}
	return nil
}

// lease returns the lease of a plan that came as JSON.
func lease(p *plan.Plan) time.Duration {
	for _, c := range p.Constants {
		if c.Name == "lease" {
			return c.Length
		}
	}
	return 0
}

// A row is pauses of a thread above a length.
type row struct {
	thread plan.Thread
	above  time.Duration
	bound  plan.Bound
	// seen is how many came in each run, and over how many runs had more than the bound allows: allowed, in the last of them.
	seen    []uint64
	over    int
	allowed float64
	// before is the bound by the run before, or by the plan for the first run, and overBefore is how many runs had more than it allows.
	before     plan.Bound
	overBefore int
}

// compare counts a run. It watched for less than it took, because a part of it is measured with processors held awake.
func (r *row) compare(m *plan.Measured) {
	b := m.Bound(r.thread, false, r.above)
	r.seen = append(r.seen, b.Seen)
	r.allowed = r.bound.PerDay * b.For.Hours() / 24
	if float64(b.Seen) > r.allowed {
		r.over++
	}
	if float64(b.Seen) > r.before.PerDay*b.For.Hours()/24 {
		r.overBefore++
	}
	r.before = b
}

// thresholds returns the bounds to compare: at what the planned lease survives, at half of it, which was the longest pause of the plan's own measurement, and at a quarter.
func thresholds(m *plan.Measured, p *plan.Plan) []row {
	var out []row
	for _, thread := range []plan.Thread{plan.MemberThread, plan.OrdinaryThread} {
		for _, part := range []time.Duration{1, 2, 4} {
			above := p.Tolerates / part
			b := m.Bound(thread, false, above)
			out = append(out, row{thread: thread, above: above, bound: b, before: b})
		}
	}
	return out
}
