package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/regentproject/regent/agent/plan"
)

// palette is how output is coloured: not at all unless it goes to a terminal whose owner does not mind.
type palette bool

func paintFor(w io.Writer) palette { return palette(isTerminal(w) && os.Getenv("NO_COLOR") == "") }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// sizeOf returns how many columns and lines a terminal has; 0 if it is none.
func sizeOf(w io.Writer) (columns, lines int) {
	if f, ok := w.(*os.File); ok {
		columns, lines, _ = term.GetSize(int(f.Fd()))
	}
	return columns, lines
}

func columnsOf(w io.Writer) int {
	columns, _ := sizeOf(w)
	return columns
}

func linesOf(w io.Writer) int {
	_, lines := sizeOf(w)
	return lines
}

func (p palette) in(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p palette) good(s string) string { return p.in("32", s) }
func (p palette) bad(s string) string  { return p.in("31", s) }

// verdict paints what is well or not.
func (p palette) verdict(well bool, s string) string {
	if well {
		return p.good(s)
	}
	return p.bad(s)
}

func (p palette) dim(s string) string  { return p.in("2", s) }
func (p palette) bold(s string) string { return p.in("1", s) }

// table prints rows in columns as wide as they need to be. The last column is not padded.
func table(w io.Writer, p palette, header []string, rows [][]string) {
	width := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], visible(cell))
		}
	}
	line := func(row []string, style func(string) string) {
		var b strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				b.WriteString(style(cell))
				continue
			}
			b.WriteString(style(cell))
			b.WriteString(strings.Repeat(" ", width[i]-visible(cell)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(header, p.dim)
	for _, row := range rows {
		line(row, func(s string) string { return s })
	}
}

// visible is how many columns a text takes, without its colours.
func visible(s string) int {
	n := 0
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		n += utf8.RuneCountInString(before)
		if !ok {
			return n
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// length shows a length of time with three significant digits, and a dash for none.
func length(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return plan.Length(d)
}

// ago shows for how long something has been so.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", max(0, d.Seconds()))
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// or returns a dash for what is not there.
func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
