package host

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/tenure"
)

// Coverage counts what runs have reached. Stray events, which no driver gives, do not count.
type Coverage struct {
	Steps  [tenure.States][tenure.Kinds]int
	Faults [faultKinds][tenure.States]int
}

func (c *Coverage) step(s tenure.State, k tenure.Kind) { c.Steps[s][k]++ }
func (c *Coverage) fault(k FaultKind, s tenure.State)  { c.Faults[k][s]++ }

// leastCoverage is the share of the pairs that 500 seeds must reach.
const leastCoverage = 0.95

// An exemption says why drivers give events of some kinds in no state but those that it names.
type exemption struct {
	kinds []tenure.Kind
	in    []tenure.State
	why   string
}

// unreachable lists the pairs that do not count. Stray faults step them all the same: the table says that nothing follows.
var unreachable = []exemption{
	{[]tenure.Kind{tenure.Elected}, []tenure.State{tenure.Waiting, tenure.Over}, "a tenure is elected once; one that withdrew may be elected meanwhile"},
	{[]tenure.Kind{tenure.Extended}, besides(tenure.Waiting), "the first deadline comes with the election"},
	{[]tenure.Kind{tenure.Fixed}, besides(tenure.Waiting, tenure.Leading), "it answers a Fix, and what is frozen does not lead"},
	{[]tenure.Kind{tenure.Refused}, []tenure.State{tenure.Stopped, tenure.Over}, "it answers a HandOver, which only a Stopped program allows"},
	{[]tenure.Kind{tenure.Yield}, besides(tenure.Waiting, tenure.Stopped), "a function that runs returns, once"},
	{[]tenure.Kind{tenure.TreeGone, tenure.TreeUnknown}, besides(tenure.Waiting, tenure.Leading, tenure.Asked), "searches begin at a Kill, which leads to Stopping"},
	{[]tenure.Kind{tenure.ElectedDone}, besides(tenure.Waiting), "hooks run once elected"},
	{[]tenure.Kind{tenure.Forked}, besides(tenure.Waiting, tenure.Asked), "programs fork once elected; a runner whose program is being forked is not asked, but stopped"},
	{[]tenure.Kind{tenure.Found}, []tenure.State{tenure.Waiting}, "it is the first event of a tenure that is read from a note"},
}

// besides returns all other states.
func besides(not ...tenure.State) (in []tenure.State) {
	for s := range tenure.State(tenure.States) {
		out := false
		for _, n := range not {
			out = out || n == s
		}
		if !out {
			in = append(in, s)
		}
	}
	return in
}

// exempt says why a pair does not count; empty: it does.
func exempt(s tenure.State, k tenure.Kind) string {
	for _, e := range unreachable {
		for _, kind := range e.kinds {
			if kind != k {
				continue
			}
			for _, in := range e.in {
				if in == s {
					return ""
				}
			}
			return e.why
		}
	}
	return ""
}

// Missing lists the pairs that were never reached, and returns which share of those that can be was. wrong lists pairs that were
// reached although they are listed as unreachable.
func (c *Coverage) Missing() (pairs, wrong []string, share float64) {
	all := 0
	for s := range tenure.State(tenure.States) {
		for k := range tenure.Kind(tenure.Kinds) {
			why, pair := exempt(s, k), fmt.Sprintf("%v × %v", s, k)
			switch reached := c.Steps[s][k] > 0; {
			case why != "" && reached:
				wrong = append(wrong, fmt.Sprintf("%s (%s)", pair, why))
			case why == "":
				all++
				if !reached {
					pairs = append(pairs, pair)
				}
			}
		}
		for f := range faultKinds {
			all++
			if c.Faults[f][s] == 0 {
				pairs = append(pairs, fmt.Sprintf("%v × fault: %v", s, f))
			}
		}
	}
	return pairs, wrong, float64(all-len(pairs)) / float64(all)
}

// Judge says what was reached, and whether that is enough.
func (c *Coverage) Judge() (text string, enough bool) {
	pairs, wrong, share := c.Missing()
	text = fmt.Sprintf("%.1f %% of all pairs were reached, want %.0f %%; never: %s", 100*share, 100*leastCoverage, strings.Join(pairs, ", "))
	if len(wrong) > 0 {
		text += "; reached, and listed as unreachable: " + strings.Join(wrong, ", ")
	}
	return text, share >= leastCoverage && len(wrong) == 0
}
