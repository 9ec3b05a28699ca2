package view

import (
	"testing"
	"time"

	"github.com/regentproject/regent/why"
)

// at is so long after the beginning of a test.
func at(after time.Duration) time.Time { return time.Unix(1000, 0).Add(after) }

func TestAViewCompletesATurnover(t *testing.T) {
	leads := func(after time.Duration, leader string, token uint64) View {
		return View{Group: "g", Mode: Quorum, Leader: leader, Token: token, At: at(after), Cause: why.Cause{Why: why.Elected, Member: leader}}
	}
	none := func(after time.Duration, k why.Kind, m string) View {
		return View{Group: "g", Mode: Quorum, At: at(after), Cause: why.Cause{Why: k, Member: m}}
	}
	asked := leads(time.Second, "a", 1)
	asked.Stopping, asked.Cause = true, why.Cause{Why: why.Drained, Member: "a"}
	moved := leads(time.Second, "b", 2)
	moved.Cause = why.Cause{Why: why.Doubted, Member: "c"}
	mine := leads(0, "a", 1)
	mine.Mine = true
	for name, c := range map[string]struct {
		views []View
		want  []string // of the turnovers that are complete, and of the open one
	}{
		"first seen":              {[]View{leads(0, "a", 1)}, []string{"a leads, as first seen here"}},
		"learned after the start": {[]View{none(0, why.Started, ""), leads(time.Hour, "a", 1)}, []string{"a leads, as first seen here"}},
		"elected after the start": {[]View{none(0, why.Started, ""), mine}, []string{"a was elected"}},
		"a program here is first": {[]View{mine}, []string{"a was elected"}},
		"nobody yet":              {[]View{none(0, why.Started, "")}, nil},
		"the cause of the end": {[]View{mine, none(time.Second, why.Suspected, "a"), none(2*time.Second, why.NoQuorum, ""), leads(3*time.Second, "b", 2)},
			[]string{"a was elected", "a fell silent; b leads after 2 s"}},
		"the cause of the order": {[]View{mine, asked, none(1200*time.Millisecond, why.Resigned, "a"), leads(1231*time.Millisecond, "b", 2)},
			[]string{"a was elected", "a was drained; b leads after 31 ms"}},
		"leads again":              {[]View{mine, none(time.Second, why.LeaseExpired, "a"), leads(2*time.Second, "a", 5)}, []string{"a was elected", "a did not renew its lease; a leads again after 1 s"}},
		"straight to another":      {[]View{mine, moved}, []string{"a was elected", "c did not hear a; b leads at once"}},
		"lost sight of":            {[]View{mine, none(time.Second, why.LeaseExpired, "a"), leads(2*time.Second, "a", 1)}, []string{"a was elected"}},
		"under way":                {[]View{mine, none(time.Second, why.NoQuorum, "")}, []string{"a was elected", "too few members answered; no leader"}},
		"asked to stop":            {[]View{mine, asked}, []string{"a was elected"}},
		"the beginning is lost":    {[]View{none(0, why.LeaseExpired, "a"), leads(1500*time.Millisecond, "b", 7)}, []string{"a did not renew its lease; b leads after 1.5 s"}},
		"no leader from the start": {[]View{none(0, why.LeaseExpired, "a")}, []string{"a did not renew its lease; no leader"}},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker Tracker
			var got []string
			for i := range c.views {
				if done := tracker.Add(&c.views[i], ""); done != nil {
					got = append(got, done.String())
				}
			}
			if open := tracker.Open(); open != nil {
				got = append(got, open.String())
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestSpansAreRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "<1 ms", 999 * time.Microsecond: "<1 ms", 1040 * time.Microsecond: "1 ms", 1570 * time.Microsecond: "1.6 ms", 31234 * time.Microsecond: "31 ms",
		999 * time.Millisecond: "1 s", 5301 * time.Millisecond: "5.3 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min", 90 * time.Minute: "1 h 30 min", 72 * time.Hour: "3 days"} {
		if got := Span(d); got != want {
			t.Errorf("%v is shown as %q, want %q", d, got, want)
		}
	}
}
