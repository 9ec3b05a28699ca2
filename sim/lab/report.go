package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Report is what came of an experiment.
type Report struct {
	Name    string   `json:"name"`
	Paper   string   `json:"paper"`
	Where   string   `json:"where"`
	Title   string   `json:"title"`
	Claim   string   `json:"claim"`
	Differs string   `json:"differs"`
	Seed    uint64   `json:"seed"`
	Quick   bool     `json:"quick"`
	Took    int64    `json:"took_ms"`
	Checks  []Check  `json:"checks"`
	Tables  []Table  `json:"tables"`
	Charts  []*Chart `json:"charts"`
}

// A Check is a claim that was held against the measurement.
type Check struct {
	Claim    string `json:"claim"`
	Measured string `json:"measured"`
	Holds    bool   `json:"holds"`
}

// A Table is numbers as people read them.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// check adds a check.
func (r *Report) check(holds bool, claim, format string, args ...any) {
	r.Checks = append(r.Checks, Check{Claim: claim, Measured: fmt.Sprintf(format, args...), Holds: holds})
}

// table adds a table and returns it.
func (r *Report) table(title string, columns ...string) *Table {
	r.Tables = append(r.Tables, Table{Title: title, Columns: columns})
	return &r.Tables[len(r.Tables)-1]
}

// add adds a row; lengths of time are in milliseconds, from a second on in seconds, with three significant digits.
func (t *Table) add(cells ...any) {
	var row []string
	for _, c := range cells {
		switch c := c.(type) {
		case time.Duration:
			row = append(row, length(c))
		case float64:
			row = append(row, fmt.Sprintf("%.3g", c))
		default:
			row = append(row, fmt.Sprint(c))
		}
	}
	t.Rows = append(t.Rows, row)
}

// Failed returns the claims that do not hold.
func (r *Report) Failed() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Holds })
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "%s, %s: %s\n\n", r.Paper, r.Where, r.Title)
	fmt.Fprintf(w, "claim:    %s\n", r.Claim)
	if r.Differs != "" {
		fmt.Fprintf(w, "differs:  %s\n", r.Differs)
	}
	for i := range r.Tables {
		r.Tables[i].write(w)
	}
	fmt.Fprintln(w)
	for _, c := range r.Checks {
		verdict := "holds"
		if !c.Holds {
			verdict = "FAILS"
		}
		fmt.Fprintf(w, "%s  %s: %s\n", verdict, c.Claim, c.Measured)
	}
}

// write prints the table with aligned columns.
func (t *Table) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	widths := make([]int, len(t.Columns))
	rows := append([][]string{t.Columns}, t.Rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("  " + cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// length writes a length of time.
func length(d time.Duration) string {
	if d >= 999500*time.Microsecond { // rounded to three digits it is a second
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", milliseconds(d))
}

// milliseconds returns a length of time as a number for charts.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// share returns what lies at a share of sorted values: the median at 0.5, the last at 1.
func share(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*p))]
}

// mean returns the average.
func mean(all []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// linear fits a line through points and returns its slope and R², the share of the variance that it explains.
func linear(points []Point) (slope, r2 float64) {
	var n, sx, sy, sxx, sxy, syy float64
	for _, p := range points {
		n, sx, sy = n+1, sx+p.X, sy+p.Y
		sxx, sxy, syy = sxx+p.X*p.X, sxy+p.X*p.Y, syy+p.Y*p.Y
	}
	dx, dy, dxy := n*sxx-sx*sx, n*syy-sy*sy, n*sxy-sx*sy
	return dxy / dx, dxy * dxy / (dx * dy)
}

// Seconds says how long the experiment took.
func (r *Report) Seconds() string { return fmt.Sprintf("%.1f s", float64(r.Took)/1000) }

// Command returns the arguments that repeat the experiment.
func (r *Report) Command() string {
	c := fmt.Sprintf("lab %s --seed %d", r.Name, r.Seed)
	if r.Quick {
		c += " --quick"
	}
	return c
}
