package main

import (
	"fmt"
	"io"

	"github.com/regentproject/regent/agent/plan"
)

// barWidth is how long the longest bar of a histogram is.
const barWidth = 40

// print shows what was measured, and what follows.
func (r *planReport) print(w io.Writer) {
	p := paintFor(w)
	r.measurements(w, p)
	t := &r.Plan.Timing
	title := "plan"
	if r.Explained != "" {
		title = r.Explained
	}
	fmt.Fprintf(w, "%s: leases of %s, renewed every %s\n", p.bold(title), plan.Length(t.Lease), plan.Length(t.Renew))
	fmt.Fprintf(w, "  a leader survives pauses of %s; a dead one is replaced after about %s, and after at most %s\n", plan.Length(r.Plan.Tolerates), plan.Length(t.Lease), plan.Length(r.Plan.FailOver))
	fmt.Fprintf(w, "  %s\n", r.Plan.Cost)
	if r.Plan.Awake {
		fmt.Fprintf(w, "  the agent holds the processors awake (/dev/cpu_dma_latency), where it may\n")
	}
	fmt.Fprintln(w)
	for i := range r.Plan.Inequalities {
		q := &r.Plan.Inequalities[i]
		verdict := p.good("holds ")
		if !q.Holds {
			verdict = p.bad("BROKEN")
		}
		fmt.Fprintf(w, "%s %s\n       %s: %s\n", verdict, q, q.Name, q.Means)
	}
	if len(r.Plan.Bounds) > 0 {
		fmt.Fprintln(w)
	}
	for _, b := range r.Plan.Bounds {
		fmt.Fprintln(w, b)
	}
	for i, a := range r.Plan.Advice {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, p.bold("advice:"), a)
	}
	if !r.Plan.Safe {
		fmt.Fprintln(w, "\n"+p.bad("not safe: ")+whatLacks(r.Plan))
	}
	if r.Plan.YAML != "" {
		fmt.Fprint(w, "\n"+r.Plan.YAML)
	}
}

// measurements shows the numbers, and the pauses of the member's thread against the lease.
func (r *planReport) measurements(w io.Writer, p palette) {
	m := r.Measured
	if r.Interrupted {
		fmt.Fprintln(w, p.bad("interrupted: ")+"the plan rests on less than was asked for")
	}
	var rows [][]string
	for i := range m.Pauses {
		x := &m.Pauses[i]
		name := string(x.Thread)
		if x.Realtime {
			name += ", real-time"
		}
		rows = append(rows, []string{string(x.Load), name, plan.Length(x.For), plan.Length(x.Quantile(0.5)), plan.Length(x.Quantile(0.99)), plan.Length(x.Longest), steal(m, x.Load)})
	}
	if len(rows) > 0 {
		table(w, p, []string{"PAUSES", "THREAD", "FOR", "MEDIAN", "99 %", "LONGEST", "STEAL"}, rows)
		fmt.Fprintln(w)
	}
	rows = nil
	for _, x := range m.Trips {
		kind := "probes"
		if x.Smoothed {
			kind = "averages of the agent"
		}
		median, longest := "-", "-"
		if x.Count > 0 {
			median, longest = plan.Length(x.Median), plan.Length(x.Longest)
		}
		rows = append(rows, []string{x.Peer, median, longest, fmt.Sprintf("%d %s, %d lost", x.Count, kind, x.Lost)})
	}
	if len(rows) > 0 {
		table(w, p, []string{"ROUND TRIPS", "MEDIAN", "LONGEST", "OF"}, rows)
		fmt.Fprintln(w)
	}
	rows = nil
	for _, x := range m.Syncs {
		rows = append(rows, []string{string(x.Load), plan.Length(x.Median), plan.Length(x.Longest), fmt.Sprint(x.Count), x.Dir})
	}
	if len(rows) > 0 {
		table(w, p, []string{"DISK SYNCS", "MEDIAN", "LONGEST", "OF", "IN"}, rows)
		fmt.Fprintln(w)
	}
	if all := m.Together(plan.MemberThread, r.Plan.Awake); len(all) > 0 {
		fmt.Fprintf(w, "pauses of the member's thread, and what the lease survives:\n")
		plan.Draw(w, all, r.Plan.Tolerates, barWidth)
		fmt.Fprintln(w)
	}
}

// steal shows the share of time stolen under a load.
func steal(m *plan.Measured, load plan.Load) string {
	for _, s := range m.Steal {
		if s.Load == load {
			return fmt.Sprintf("%.1f %%", 100*s.Share)
		}
	}
	return "-"
}

// whatLacks says what a plan lacks.
func whatLacks(p *plan.Plan) string {
	for i := range p.Inequalities {
		if !p.Inequalities[i].Holds {
			return "the inequalities marked BROKEN do not hold"
		}
	}
	return "not all hosts have answered (see the advice)"
}
