package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// report prints what must be looked at, then the table, and returns the exit code.
func report(results []Result, out io.Writer) int {
	caught := 0
	for _, r := range results {
		if r.Outcome == Caught {
			caught++
			continue
		}
		fmt.Fprintf(out, "%v: %s: %s\n", r.Mutant, r.Outcome, strings.ReplaceAll(strings.TrimRight(r.Detail, "\n"), "\n", "\n    "))
		fmt.Fprintf(out, "    it breaks: %s\n    try it alone: make mutants MUTANTS=%v\n\n", r.Mutant.Breaks, r.Mutant)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROTOCOL\tMUTANT\tMUST BE CAUGHT BY\tCAUGHT BY\tSECONDS")
	for _, r := range results {
		by := r.Mutant.CaughtBy // and perhaps by others, which is none of the table's business
		if r.Outcome != Caught {
			by = strings.TrimSpace(string(r.Outcome) + " " + strings.Join(r.By, ", "))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f\n", r.Mutant.Dir, r.Mutant.Name, r.Mutant.CaughtBy, by, r.Took.Seconds())
	}
	table.Flush()
	fmt.Fprintf(out, "%d of %d mutants caught\n", caught, len(results))
	if caught < len(results) {
		return someSurvived
	}
	return allCaught
}
