package main

import (
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

func TestSinceIsWhatAPersonMeans(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 19, 14, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"10m":                  now.Add(-10 * time.Minute),
		"14:05":                time.Date(2026, 11, 19, 14, 5, 0, 0, zone),
		"14:05:07":             time.Date(2026, 11, 19, 14, 5, 7, 0, zone),
		"15:00":                time.Date(2026, 11, 18, 15, 0, 0, 0, zone), // still to come today
		"2026-11-01T00:00:00Z": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "-10m", "25:00", "10"} {
		if got, err := parseSince(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestPatternsMatchNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "anything", true}, {"g", "g", true}, {"g", "gg", false}, {"g*", "g", true}, {"g*", "shop/g", false}, {"*g", "shop/g", true}, {"s*p/?", "shop/g", true},
		{"s*p/?", "shop/", false}, {"*a*b*c", "xxaxbxbc", true}, {"*a*b*c", "xxaxbxb", false}, {"a*", "a*", true}, {"??", "äö", true}, {"a**b", "ab", true},
	} {
		if got := (&filter{pattern: c.pattern}).lets(c.name); got != c.want {
			t.Errorf("%q lets %q: %t", c.pattern, c.name, got)
		}
	}
}

// regent who hides what was given up long ago, and nothing that a person may miss.
func TestWhoHidesOnlyWhatNobodyMisses(t *testing.T) {
	now := time.Unix(100_000, 0)
	group := func(name, leader string, ago time.Duration, k why.Kind) api.GroupInfo {
		return api.GroupInfo{Change: api.Change{View: regent.View{Group: name, Mode: regent.Quorum, Leader: leader, At: now.Add(-ago), Cause: because(k, "a")}}}
	}
	known := []api.GroupInfo{
		group("led", "a", time.Hour, why.Elected),
		group("over", "", time.Hour, why.Resigned),
		group("over here", "", time.Hour, why.Resigned),
		group("just over", "", time.Minute, why.Resigned),
		group("lost", "", time.Hour, why.LeaseExpired),
		group("stuck", "", time.Hour, why.NoQuorum),
	}
	programs := []api.SessionInfo{{Group: "over here"}}
	names := func(l *whoList) (names []string, hidden int) {
		rows, hidden := l.choose(known, &api.History{}, programs, now)
		for i := range rows {
			names = append(names, rows[i].Group)
		}
		return names, hidden
	}
	if got, hidden := names(&whoList{}); len(got) != 5 || hidden != 1 || got[1] != "over here" {
		t.Errorf("listed %q, and %d not", got, hidden)
	}
	if got, hidden := names(&whoList{all: true}); len(got) != 6 || hidden != 0 {
		t.Errorf("all are %q, and %d not", got, hidden)
	}
	if got, hidden := names(&whoList{filter: filter{pattern: "over*", from: now.Add(-2 * time.Hour)}}); len(got) != 1 || hidden != 1 {
		t.Errorf("of the pattern %q, and %d not", got, hidden)
	}
	if got, _ := names(&whoList{filter: filter{from: now.Add(-10 * time.Minute)}, all: true}); len(got) != 1 || got[0] != "just over" {
		t.Errorf("lately changed %q", got)
	}
}

func TestTimesOfDay(t *testing.T) {
	now := time.Date(2026, 11, 19, 14, 30, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{"14:05:09": now.Add(-24*time.Minute - 51*time.Second), "Nov 18 14:30:00": now.AddDate(0, 0, -1), "2025-11-19 14:30:00": now.AddDate(-1, 0, 0), "-": {}} {
		if got := timeOfDay(at, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
