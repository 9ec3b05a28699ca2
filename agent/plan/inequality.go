package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent"
)

// A Term is one length in a sum.
type Term struct {
	Name   string        `json:"name"`
	Length time.Duration `json:"length_ns"` // negative: taken off
}

// An Inequality is Left ≥ Right, or Left > Right if it is Strict.
type Inequality struct {
	// Name is what it is about, Means what follows if it holds.
	Name   string `json:"name"`
	Means  string `json:"means"`
	Left   []Term `json:"left"`
	Right  []Term `json:"right"`
	Strict bool   `json:"strict,omitempty"`
	Holds  bool   `json:"holds"`
}

func sum(terms []Term) time.Duration {
	var d time.Duration
	for _, t := range terms {
		d += t.Length
	}
	return d
}

func newInequality(name, means string, strict bool, left, right []Term) Inequality {
	l, r := sum(left), sum(right)
	return Inequality{Name: name, Means: means, Left: left, Right: right, Strict: strict, Holds: l > r || !strict && l == r}
}

// String shows it with its numbers.
func (q *Inequality) String() string {
	sign := "≥"
	if q.Strict {
		sign = ">"
	}
	if !q.Holds {
		sign = "<"
		if q.Strict {
			sign = "≤"
		}
	}
	return side(q.Left, true) + " " + sign + " " + side(q.Right, false)
}

// side shows a sum, with its result where there is more than one term.
func side(terms []Term, resultLast bool) string {
	var b strings.Builder
	for i, t := range terms {
		switch {
		case i > 0 && t.Length < 0:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		fmt.Fprintf(&b, "%s %s", t.Name, Length(max(t.Length, -t.Length)))
	}
	if len(terms) < 2 {
		return b.String()
	}
	if resultLast {
		return b.String() + " = " + Length(sum(terms))
	}
	return Length(sum(terms)) + " = " + b.String()
}

// spare is the sum that a lease survives a pause by.
func spare(t regent.Timing) []Term {
	drift := t.Tolerates() - (t.Lease - t.Renew - t.RoundTrip - t.Guard)
	return []Term{{"lease", t.Lease}, {"drift", min(drift, 0)}, {"renew", -t.Renew}, {"round trip", -t.RoundTrip}, {"guard", -t.Guard}}
}

// doubled is twice the longest pause that was seen. It may have been longer by the time between two looks.
func doubled(seen, step time.Duration) []Term {
	return []Term{{"longest pause", seen}, {"time between two looks", step}, {"as much again", seen + step}}
}

// leaseInequalities returns those that bear on leases and fail-overs.
func leaseInequalities(t regent.Timing, in Intent, m *Measured, awake bool) []Inequality {
	var out []Inequality
	if in.Pause > 0 {
		out = append(out, newInequality("pause", "the leader keeps its lease through the pause that is to be tolerated", false,
			spare(t), []Term{{"pause to tolerate", in.Pause}}))
	}
	for _, thread := range []Thread{MemberThread, OrdinaryThread} {
		seen, step, watched := m.worst(thread, awake)
		if watched == 0 {
			continue
		}
		means := "the leader keeps its lease in pauses twice as long as the longest that its host had"
		if thread == OrdinaryThread {
			means = "programs hear of renewals in time"
		}
		out = append(out, newInequality(string(thread), means, false, spare(t), doubled(seen, step)))
	}
	if m.Ordinary() {
		out = append(out, newInequality("ordinary scheduling", "an agent without a real-time thread gives programs such leases", false,
			spare(t), []Term{{"pause to expect of an ordinary thread", OrdinaryPause}}))
	}
	if in.FailOver > 0 {
		f := t.FailOver(in.Members)
		out = append(out, newInequality("fail-over", "a leader that dies is replaced in time", false,
			[]Term{{"fail-over asked for", in.FailOver}}, []Term{{"lease", t.Lease}, {"elections", f - t.Lease}}))
	}
	return append(out,
		newInequality("two round trips", "a lease outlasts a request that is repeated", true,
			[]Term{{"lease", t.Lease}}, []Term{{"round trip", t.RoundTrip}, {"round trip", t.RoundTrip}}),
		newInequality("longest lease", "the council allows the lease", false, []Term{{"longest lease", max(t.Lease, t.LongestLease)}}, []Term{{"lease", t.Lease}}))
}

// councilInequalities returns those of the other constants of a council.
func councilInequalities(t regent.Timing, m *Measured, awake bool) []Inequality {
	var out []Inequality
	if trip := m.trip(); trip > 0 {
		out = append(out, newInequality("round trip", "answers come before requests are repeated", false,
			[]Term{{"round trip", t.RoundTrip}}, []Term{{"longest measured", trip}, {"usual lateness of a thread", m.usually(awake)}}))
	}
	out = append(out,
		newInequality("renewal", "a renewal is answered before the next one", false, []Term{{"renew of the council's own leases", t.Renew}}, []Term{{"round trip", t.RoundTrip}}),
		newInequality("local guard", "programs of local groups can be asked to stop in time", false,
			[]Term{{"longest guard of local groups", t.LongestLocalGuard()}}, []Term{{"guard", t.Guard}}),
		newInequality("suspicion", "one lost heartbeat makes nobody suspect", true, []Term{{"suspect", t.Suspect}}, []Term{{"heartbeat", t.Heartbeat}}))
	if t.Evict > 0 {
		out = append(out, newInequality("eviction", "links of consistent groups break before a member has to leave", true,
			[]Term{{"evict", t.Evict}}, []Term{{"4 renewals", 4 * t.Renew}, {"round trip", t.RoundTrip}}))
	}
	return out
}

// Lengths returns an inequality for each other length of lease in use, by the pause that it survives.
func Lengths(t regent.Timing, lengths []time.Duration, m *Measured) []Inequality {
	var out []Inequality
	for _, l := range lengths {
		of := t.ForLease(l)
		seen, step, _ := m.worst(MemberThread, false)
		if s, by, _ := m.worst(OrdinaryThread, false); s+by > seen+step {
			seen, step = s, by
		}
		out = append(out, newInequality("lease "+Length(l), "programs with leases of this length keep them", false, spare(of), doubled(seen, step)))
	}
	return out
}
