package view

import (
	"slices"
	"time"

	"github.com/regentproject/regent/why"
)

// An Incident is what happened to several groups at the same time and for the same cause, for example the death of a host that led them.
type Incident struct {
	// Turnover is that of the first group. Its gap lasts until the last of them had a leader.
	Turnover
	// All are the changes of all groups, in the order in which they happened.
	All []Turnover
}

// incidentWindow is within what time changes of several groups belong together.
const incidentWindow = time.Second

// Incidents puts those turnovers together that have the same cause, leader before and leader after, at about the same time. The order is that of the
// first of each.
func Incidents(turnovers []Turnover) []Incident {
	type likeness struct {
		from, to string
		cause    why.Kind
		member   string
		seen     bool
	}
	var out []Incident
	last := make(map[likeness]int) // the place of the latest incident of a kind
	for i := range turnovers {
		t := &turnovers[i]
		is := likeness{t.From, t.To, t.Cause.Why, t.Cause.Member, t.Seen}
		at, ok := last[is]
		if ok && t.At.Sub(out[at].At).Abs() <= incidentWindow && !out[at].has(t.Group) {
			out[at].All = append(out[at].All, *t)
			out[at].Gap = max(out[at].Gap, t.Gap)
			continue
		}
		last[is] = len(out)
		out = append(out, Incident{*t, []Turnover{*t}})
	}
	return out
}

// has says that a group is in it.
func (i *Incident) has(group string) bool {
	return slices.ContainsFunc(i.All, func(t Turnover) bool { return t.Group == group })
}
