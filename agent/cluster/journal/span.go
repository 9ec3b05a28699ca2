package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Span is one leadership as its program saw it. From Since to Seen the program led throughout, by its own readings.
type Span struct {
	Group string
	// Holder is the program or the member that led.
	Holder string
	// Pid is the process that wrote the span; if several did, that of the first that was read.
	Pid int
	// Token is zero in groups that have none.
	Token uint64
	// Since is the first reading after the lease was seen valid, and Seen the last reading before it was.
	Since, Seen Time
	// Until is when the program noted that it had to stop; zero if it never did, such as after kill -9.
	Until Time
	// Cause is why it had to stop, for people.
	Cause string
	// Local says that the lease was one of a local group. Support are the members that supported it throughout.
	Local   bool
	Support []string
}

// Overlap returns for how long both spans led.
func Overlap(a, b Span) time.Duration { return max(0, min(a.Seen, b.Seen).Sub(max(a.Since, b.Since))) }

// Rules say what is allowed. The zero value is for quorum groups: no two lead at once, and tokens grow.
type Rules struct {
	// Together allows two spans of one group to overlap; nil: none may.
	Together func(a, b Span) bool
	// Gap is for how long a group may be without a leader, between From and To; zero: forever.
	Gap      time.Duration
	From, To Time
}

// LocalApart allows local leaders at one instant that have no supporter in common, and a local leader beside a quorum's.
func LocalApart(a, b Span) bool {
	if a.Local != b.Local {
		return true
	}
	return a.Local && !slices.ContainsFunc(a.Support, func(s string) bool { return slices.Contains(b.Support, s) })
}

// A Report is what Check has found.
type Report struct {
	// Spans are the leaderships in the order in which they began. What several processes of one holder wrote under one token is
	// one of them.
	Spans []Span
	// Both is how long two led one group at once that must not, and Worst the longest such time.
	Both, Worst time.Duration
	// Allowed counts the pairs that led at once and may.
	Allowed int
	// Longest is the longest time without a leader in any group, if the rules ask for it.
	Longest time.Duration
}

// Check looks for two spans that led one group at once, for tokens that do not grow, and for groups without a leader. The error
// names all that it finds.
func Check(spans []Span, r Rules) (Report, error) {
	rep := Report{Spans: merge(spans)}
	groups := make(map[string][]Span)
	var names []string
	for _, s := range rep.Spans {
		if groups[s.Group] == nil {
			names = append(names, s.Group)
		}
		groups[s.Group] = append(groups[s.Group], s)
	}
	slices.Sort(names)
	var found []error
	for _, name := range names {
		found = append(found, rep.group(name, groups[name], &r)...)
	}
	return rep, errors.Join(found...)
}

// group checks the spans of one group, which are in order.
func (rep *Report) group(name string, spans []Span, r *Rules) (found []error) {
	var last Span
	free := func(next string, since Time) {
		d := since.Sub(last.Seen)
		rep.Longest = max(rep.Longest, d)
		if d > r.Gap {
			found = append(found, fmt.Errorf("group %s: no leader for %v, between %q and %q", name, d, last.Holder, next))
		}
	}
	last.Seen = r.From
	if r.From == 0 {
		last.Seen = spans[0].Since
	}
	for i, s := range spans {
		found = append(found, rep.pairs(spans[:i], s, r)...)
		if r.Gap > 0 && s.Seen > r.From {
			free(s.Holder, s.Since)
		}
		if s.Seen > last.Seen {
			last = s
		}
	}
	if r.Gap > 0 && r.To > 0 {
		free("the end", r.To)
	}
	return found
}

// pairs checks a span against all that began before it.
func (rep *Report) pairs(before []Span, s Span, r *Rules) (found []error) {
	for _, b := range before {
		if both := Overlap(b, s); both > 0 {
			if r.Together != nil && r.Together(b, s) {
				rep.Allowed++
			} else {
				rep.Both, rep.Worst = rep.Both+both, max(rep.Worst, both)
				found = append(found, fmt.Errorf("group %s: %v and %v both led for %v", s.Group, b, s, both))
			}
		}
		if s.Token != 0 && s.Token <= b.Token && !s.Local && !b.Local {
			found = append(found, fmt.Errorf("group %s: %v led after %v: the token does not grow", s.Group, s, b))
		}
	}
	return found
}

// String names the span in errors.
func (s Span) String() string {
	if s.Token == 0 {
		return s.Holder
	}
	return fmt.Sprintf("%s (token %d)", s.Holder, s.Token)
}

// merge puts the spans in order, and those of one holder under one token together.
func merge(spans []Span) []Span {
	type key struct {
		group, holder string
		token         uint64
		local         bool
	}
	at := make(map[key]int)
	var all []Span
	for _, s := range spans {
		k := key{s.Group, s.Holder, s.Token, s.Local}
		i, ok := at[k]
		if s.Token == 0 || !ok {
			at[k] = len(all)
			all = append(all, s)
			continue
		}
		o := &all[i]
		o.Since, o.Seen, o.Until = min(o.Since, s.Since), max(o.Seen, s.Seen), max(o.Until, s.Until)
	}
	slices.SortStableFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Seen, b.Seen)) })
	return all
}
