package roster

import (
	"testing"
	"time"
)

func TestProgressAndDifferenceInWords(t *testing.T) {
	member := func(name string) Member { return Member{Peer: Peer{Name: name}} }
	a, b, c, d := member("a"), member("b"), member("c"), member("d")
	d.New, d.Learnt = true, 40
	leaving, voteless := c, c
	leaving.Leaving = true
	voteless.Leaving, voteless.Observer = true, true
	witness := Peer{Name: "c", Witness: true}
	for want, now := range map[string]Council{
		"number 7":                           {Number: 7, Settled: true},
		"number 7; settling":                 {Number: 7, Phase: Settling},
		"number 7; settling; waits for a, c": {Number: 7, Phase: Settling, WaitsFor: []string{"a", "c"}},
		"number 7 to 8: adding d; learning: d knows 40 of 212 groups; waits for d": {Number: 7, Settled: true, Groups: 212, Phase: Learning, WaitsFor: []string{"d"}, Members: []Member{a, b, d}, Goal: []Peer{a.Peer, b.Peer, d.Peer}},
		"number 7 to 8: adding d, removing c; agreeing":                            {Number: 7, Settled: true, Phase: Agreeing, Members: []Member{a, b, leaving}, Goal: []Peer{a.Peer, b.Peer, d.Peer}},
		"number 7 to 8: changing c; blocked; waits for b":                          {Number: 7, Settled: true, Phase: Blocked, WaitsFor: []string{"b"}, Members: []Member{a, b, c}, Goal: []Peer{a.Peer, b.Peer, witness}},
		"number 7: adding c in place of the host of that name; settling":           {Number: 7, Phase: Settling, Members: []Member{a, b, voteless}, Goal: []Peer{a.Peer, b.Peer, c.Peer}},
		"number 7 to 8: removing c; handing over; waits for c":                     {Number: 7, Settled: true, Phase: HandingOver, WaitsFor: []string{"c"}, Members: []Member{a, b, leaving}, Goal: []Peer{a.Peer, b.Peer}},
	} {
		if got := now.Progress(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	again, elsewhere := c, c
	again.Joined, elsewhere.Addrs = 5, []string{"host:1"}
	for want, pair := range map[string][2][]Member{
		"":                                   {{a, b}, {a, b}},
		"member d added, member c removed":   {{a, b, c}, {a, b, d}},
		"member c replaced by a new host":    {{a, b, c}, {a, b, again}},
		"member c became a witness":          {{a, c}, {a, {Peer: witness}}},
		"member c has another address":       {{a, c}, {a, elsewhere}},
		"member a removed, member b removed": {{a, b, c}, {c}},
	} {
		now, before := Council{Members: pair[1]}, Council{Members: pair[0]}
		if got := now.Difference(&before); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestTimingInWords(t *testing.T) {
	c := Council{Number: 3, Timing: Timing{LongestLease: 30 * time.Second, Drift: 0.001}, Goal: []Peer{{Name: "a"}}, Members: []Member{{Peer: Peer{Name: "a"}}}}
	next := c.Timing.Over(&Timing{LongestLease: 20 * time.Second})
	c.GoalTiming = &next
	if got, want := c.Plan(), "changing longest_lease to 20s"; got != want {
		t.Errorf("plan %q, want %q", got, want)
	}
	after := c
	after.Timing = next.Over(&Timing{Drift: 0.002})
	if got, want := after.Difference(&c), "longest_lease became 20s, drift became 0.002"; got != want {
		t.Errorf("difference %q, want %q", got, want)
	}
	if got, want := after.Timing.String(), "longest_lease 20s, drift 0.002"; got != want || c.Timing.Over(nil) != c.Timing {
		t.Errorf("timing %q, want %q", got, want)
	}
}
