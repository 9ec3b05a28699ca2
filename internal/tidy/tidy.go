// Package tidy holds the rules of the house that a program can check. A rule that is not a test rots; these are tests,
// so `go test ./internal/tidy` says where the tree breaks one, and why the rule is there.
//
//	load.go     packages, parsed and type-checked, so that a renamed or dot import hides nothing
//	pure.go     what runs under a virtual clock reads no clock, draws no randomness, starts nothing and does no I/O
//	drift.go    drift is computed by the four helpers of protocol.Rho and nowhere else
//	modules.go  what each module of the tree may import of the others and require from elsewhere, as a table
//	layers.go   which package may import which, as a table
//	timers.go   packages that drive tenures wait for no deadline by themselves
//	waits.go    files that drive tenures wait for nothing else by themselves either, nor look at a clock
//	drivers.go  what they may wait for, with a reason for each
//	header.go   the header of an if changes nothing that its condition is not about
//	budget.go   how long a file and a function may be, with a ratchet for the exceptions
//	links.go    links in the docs that lead nowhere
//	text.go     formatting, package docs, paths of somebody's machine
//	testing.go  tests do not sleep on the wall clock and are not skipped
//
// Each rule is shown to fail by a small package in testdata, whose comments say what must be found on which line.
package tidy

import (
	"cmp"
	"fmt"
	"slices"
)

// A Problem is one place at which the tree breaks a rule.
type Problem struct {
	File string // relative to the root of the tree
	Line int    // 0: the whole file
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// sorted puts problems into the order of files and lines, which does not depend on how they were found.
func sorted(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(problems)
}
