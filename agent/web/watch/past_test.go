package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

// A crash that costs many groups their leader is one row, with one cause. A group whose leader resigns meanwhile has a row of its own.
func TestOneCrashIsOneIncident(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	var changes []api.Change
	put := func(after time.Duration, group, leader string, token uint64, kind why.Kind, member string) {
		changes = append(changes, api.Change{Serial: uint64(len(changes) + 1), View: regent.View{At: begin.Add(after), Mode: regent.Quorum, Group: group, Leader: leader, Token: token,
			Cause: regent.Cause{Why: kind, Member: member}}})
	}
	const groups = 30
	name := func(i int) string { return fmt.Sprintf("g%02d", i) }
	for i := range groups {
		put(time.Second, name(i), "b", 1, why.Elected, "b")
	}
	for i := range groups {
		after := time.Minute + time.Duration(i)*10*time.Millisecond
		kind := why.Suspected
		if i == 7 {
			kind = why.Resigned
		}
		put(after, name(i), "", 0, kind, "b")
		if i != 9 {
			put(after+time.Duration(i)*time.Millisecond, name(i), "a", 2, why.Elected, "a")
		}
	}
	log := func() string {
		st := state(&api.AgentStatus{Status: regent.Status{Name: "a"}, Started: begin}, nil, nil, changes, nil, time.Hour)
		var out []string
		for _, e := range st.Log {
			out = append(out, fmt.Sprintf("%v %s %s: %s", e.At.Round(time.Second), e.Tone, e.Member, e.Text))
		}
		return strings.Join(out, "\n")
	}
	const first = "1s good b: b leads, as first seen here (30 groups: g00, g01, g02 and 27 more)\n" +
		"1m0s good a: b fell silent; a leads after 29 ms (28 groups: g00, g01, g02 and 25 more)\n" +
		"1m0s good a: b gave the group up; a leads after 7 ms\n"
	if got, want := log(), first+"1m0s bad b: b fell silent; no leader"; got != want {
		t.Errorf("while g09 has no leader:\n%s\nwant\n%s", got, want)
	}
	// What comes much later is another incident, though it has the same cause.
	put(10*time.Minute, "g09", "b", 3, why.Elected, "b")
	put(11*time.Minute, "g09", "", 0, why.Suspected, "b")
	put(11*time.Minute, "g09", "a", 4, why.Elected, "a")
	if got, want := log(), first+"1m0s good b: b fell silent; b leads again after 8 min\n11m0s good a: b fell silent; a leads at once"; got != want {
		t.Errorf("later:\n%s\nwant\n%s", got, want)
	}
}
