package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A column is a number of each run. Those that can be compared have a ratio to that of Regent's library in the same role.
type column struct {
	head string
	// of returns the number; false if it was not measured.
	of   func(*run) (float64, bool)
	unit string
	// more is what stands behind the number.
	more func(*run) string
	// alone says that ratios make no sense.
	alone bool
}

// reference returns the run with which others in its role are compared; nil if there is none.
func (r *report) reference(role string) *run {
	for _, x := range r.Runs {
		if x.System == "regent" && x.Role == role {
			return x
		}
	}
	return nil
}

// cell is a number with its ratio.
func (r *report) cell(c column, x *run) string {
	n, ok := c.of(x)
	if !ok {
		return "–"
	}
	text := number(n) + c.unit
	if ref := r.reference(x.Role); ref != nil && ref != x && !c.alone {
		if m, ok := c.of(ref); ok && m > 0 && n > 0 {
			text += fmt.Sprintf(" (%s×)", number(n/m))
		}
	}
	if c.more != nil {
		text += c.more(x)
	}
	return text
}

// number has three significant digits, or fewer if it is a whole one, and separators of thousands.
func number(x float64) string {
	switch {
	case x == math.Trunc(x) && math.Abs(x) < 1000:
		return fmt.Sprintf("%.0f", x)
	case math.Abs(x) >= 1000:
		digits := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
		s := fmt.Sprintf("%.0f", math.Round(x/digits)*digits)
		for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(x)))))
	return fmt.Sprintf("%.*f", min(decimals, 3), x)
}

// table is a table of all runs.
func (r *report) table(columns []column) string {
	var b strings.Builder
	b.WriteString("| system | setting |")
	for _, c := range columns {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, role := range []string{"fastest", "default"} {
		for _, x := range r.Runs {
			if x.Role != role {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s (%s) |", x.System, x.Setting.Name, x.Role)
			for _, c := range columns {
				b.WriteString(" " + r.cell(c, x) + " |")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// failovers are the columns of trials: the median, and behind it the longest and how many there were.
func failovers(kinds []string) (out []column) {
	for _, kind := range kinds {
		out = append(out, column{head: kind + ", ms", of: func(x *run) (float64, bool) {
			t := x.Trials[kind]
			if t == nil || len(t.MS) == 0 {
				return 0, false
			}
			return t.MS.at(0.5), true
		}, more: func(x *run) string {
			t := x.Trials[kind]
			return fmt.Sprintf("; p90 %s, max %s of %d%s", number(t.MS.at(0.9)), number(t.MS.at(1)), len(t.MS), failed(t.Failed))
		}})
	}
	return out
}

func failed(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", **%d failed**", n)
}

// measured is the number of an optional field.
func measured(f func(*cost) *float64) func(*run) (float64, bool) {
	return func(x *run) (float64, bool) {
		if x.Idle == nil || f(x.Idle) == nil {
			return 0, false
		}
		return *f(x.Idle), true
	}
}

func idleColumns() []column {
	idle := func(f func(*cost) float64) func(*run) (float64, bool) {
		return measured(func(c *cost) *float64 { n := f(c); return &n })
	}
	return []column{
		{head: "packets/s", of: measured(func(c *cost) *float64 { return c.Packets })},
		{head: "bytes/s", of: measured(func(c *cost) *float64 { return c.Bytes })},
		{head: "packets/s inside hosts", of: measured(func(c *cost) *float64 { return c.Inside }), alone: true},
		{head: "of a core", unit: " %", of: idle(func(c *cost) float64 { return c.Cores })},
		{head: "memory", unit: " MB", of: idle(func(c *cost) float64 { return c.Memory })},
		{head: "system calls/s", of: measured(func(c *cost) *float64 { return c.Calls })},
		{head: "context switches/s", of: idle(func(c *cost) float64 { return c.Switches })},
	}
}

func safetyColumns() []column {
	return []column{
		{head: "unprovoked changes, idle", alone: true, of: func(x *run) (float64, bool) {
			if x.Idle == nil {
				return 0, false
			}
			return float64(x.Idle.Changes), true
		}, more: func(x *run) string { return " in " + seconds(x.Idle.Seconds) }},
		{head: "unprovoked changes, busy", alone: true, of: func(x *run) (float64, bool) {
			if x.Busy == nil {
				return 0, false
			}
			return float64(x.Busy.Changes), true
		}, more: func(x *run) string { return " in " + seconds(x.Busy.Seconds) }},
		{head: "times two believed that they lead", alone: true, of: func(x *run) (float64, bool) { return float64(x.Both.Pairs), true }, more: func(x *run) string {
			if x.Both.Pairs == 0 {
				return ""
			}
			return fmt.Sprintf(", up to %s ms", number(x.Both.WorstMS))
		}},
		{head: "stale after SIGCONT", alone: true, of: func(x *run) (float64, bool) { return float64(x.Stale.Believed), x.Stale.Woke > 0 }, more: func(x *run) string {
			text := fmt.Sprintf(" of %d", x.Stale.Woke)
			if x.Stale.Believed > 0 {
				text += fmt.Sprintf(", for %s ms", number(x.Stale.MS.at(0.5)))
			}
			return text
		}},
		{head: "“do I lead?”, nobody asked", unit: " ns", of: func(x *run) (float64, bool) { return of(x, func(p *price) float64 { return p.Local }) }},
		{head: "the others asked", unit: " µs", of: func(x *run) (float64, bool) { return of(x, func(p *price) float64 { return p.Verify }) }},
		{head: "time.Now", unit: " ns", alone: true, of: func(x *run) (float64, bool) { return of(x, func(p *price) float64 { return p.Clock }) }},
	}
}

func of(x *run, f func(*price) float64) (float64, bool) {
	if x.Price == nil || f(x.Price) == 0 {
		return 0, false
	}
	return f(x.Price), true
}

func seconds(s float64) string { return time.Duration(s * 1e9).Round(time.Second).String() }

// markdown is the whole report as a person reads it.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString(r.head())
	b.WriteString("Medians; in parentheses times that of Regent's library in the same role.\n\n")
	b.WriteString("From the loss of the leader to the next:\n\n" + r.table(failovers(r.tried())))
	fmt.Fprintf(&b, "\nWhile nothing happens, three hosts together:\n\n%s", r.table(idleColumns()))
	fmt.Fprintf(&b, "\nStability (busy: beside %d busy processes), safety, and what it costs to ask:\n\n%s", r.Busy, r.table(safetyColumns()))
	b.WriteString("\nWhat ran:\n\n| system | version | setting | constants | found by |\n|---|---|---|---|---|\n")
	for _, x := range r.Runs {
		fmt.Fprintf(&b, "| %s: %s | %s | %s (%s) | %s | %s |\n", x.System, x.Says, x.Version, x.Setting.Name, x.Role, x.Setting.Says, x.Found)
	}
	if len(r.Missing) > 0 {
		b.WriteString("\nMissing:\n\n")
		for _, g := range r.Missing {
			fmt.Fprintf(&b, "* %s: %s\n", g.What, g.Why)
		}
	}
	return b.String()
}

// head says where it was measured.
func (r *report) head() string {
	command := r.Command
	if r.Machine.Nice != 0 {
		command = fmt.Sprintf("nice -n %d %s", r.Machine.Nice, command)
	}
	return fmt.Sprintf("`%s`, %s, %d processors (%s), %s, %s. Load averages: %s. Hosts: %s.\n\n", command, r.Date.Format("2 January 2006 15:04 MST"), r.Machine.Processors, r.Machine.Model,
		r.Machine.Kernel, r.Machine.Go, loads(r.Load), r.Hosts)
}

// short is what an overview has: settings that are as fast as they can be while they are stable, and few columns.
func (r *report) short() string {
	few := *r
	few.Runs = slices.DeleteFunc(slices.Clone(r.Runs), func(x *run) bool { return x.Role == "default" })
	idle, safety := idleColumns(), safetyColumns()
	columns := []column{idle[0], safety[0], safety[1], safety[2], safety[3]}
	for i, c := range failovers(r.tried()) {
		c.more = nil
		columns = slices.Insert(columns, i, c)
	}
	return few.table(columns) + "\n" + r.head()
}

// tried are the kinds of trials that were made, in order.
func (r *report) tried() (out []string) {
	for _, k := range kinds {
		if slices.ContainsFunc(r.Runs, func(x *run) bool { return x.Trials[k] != nil }) {
			out = append(out, k)
		}
	}
	return out
}

func loads(all []float64) string {
	var words []string
	for _, l := range all {
		words = append(words, fmt.Sprintf("%.1f", l))
	}
	return strings.Join(words, ", ")
}
