package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/why"
)

// An Incident is what happened to several groups at the same time and for the same cause, for example the death of a host that led them.
type Incident struct {
	// Turnover is that of the first group. Its gap lasts until the last of them had a leader.
	Turnover
	// All are the changes of all groups, in the order in which they happened.
	All []Turnover
	// Place is that of the first of them in the list that the incident was found in.
	Place int
}

// incidentWindow is within what time changes of several groups belong together.
const incidentWindow = time.Second

// Incidents puts those turnovers together that have the same cause, leader before and leader after, at about the same time. The order is that of the
// first of each.
func Incidents(turnovers []Turnover) []Incident {
	type likeness struct {
		mode     Mode
		from, to string
		cause    why.Kind
		member   string
		seen     bool
	}
	type part struct {
		likeness
		group string
	}
	var out []Incident
	last := make(map[likeness]int) // the place of the latest incident of a kind
	parts := make(map[part]int)    // the same, for each of its groups
	for i := range turnovers {
		t := &turnovers[i]
		is := part{likeness{t.Mode, t.From, t.To, t.Cause.Why, t.Cause.Member, t.Seen}, t.Group}
		at, ok := last[is.likeness]
		in, has := parts[is]
		if ok && t.At.Sub(out[at].At).Abs() <= incidentWindow && !(has && in == at) {
			out[at].All = append(out[at].All, *t)
			out[at].Gap = max(out[at].Gap, t.Gap)
			parts[is] = at
			continue
		}
		last[is.likeness], parts[is] = len(out), len(out)
		out = append(out, Incident{*t, []Turnover{*t}, i})
	}
	return out
}

// groupsNamed is how many groups of an incident are named.
const groupsNamed = 3

// Groups names the groups if there are several: "3 groups: billing, cache, mail". It is empty if there is one.
func (i *Incident) Groups() string {
	if len(i.All) < 2 {
		return ""
	}
	var first []string
	for n := range min(groupsNamed, len(i.All)) {
		first = append(first, names.Label(i.All[n].Group))
	}
	text := fmt.Sprintf("%d groups: %s", len(i.All), strings.Join(first, ", "))
	if more := len(i.All) - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
