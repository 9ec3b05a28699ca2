package regent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/roster"
)

// councilMetrics returns the metrics of the council that a member has, in one line.
func councilMetrics(m *Member) string {
	var all []string
	for x := range m.Metrics() {
		if name, ok := strings.CutPrefix(x.String(), "regent_council_"); ok && (x.Value != 0 || len(x.Labels) == 0) {
			all = append(all, name)
		}
	}
	return strings.Join(all, "; ")
}

// A change that waits for a member shows for which one, and how far each member has got. Metrics follow.
func TestCouncilShowsHowFarAChangeHasGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		c.lead("a", "g")
		c.lead("b", "h")
		time.Sleep(time.Second)
		before := c.members["a"].Council()
		if got, want := councilMetrics(c.members["a"]), `number 0; settled 1; members{role="voter"} 3; given_up 0; file_differs 0`; got != want {
			t.Errorf("before: %s\nwant    %s", got, want)
		}
		if slices.ContainsFunc(before.Members, func(m roster.Member) bool { return m.Adopted || m.Settled || m.Learnt > 0 }) {
			t.Errorf("nothing is running, and members show how far they are: %+v", before.Members)
		}
		go func() {
			_, _ = c.members["a"].Change(t.Context(), roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}})
		}()
		time.Sleep(20 * time.Second)
		now := c.members["b"].Council()
		if got, want := now.Progress(), "number 1 to 2: adding d, removing c; learning: d knows 0 of 2 groups; waits for d"; got != want {
			t.Errorf("while d is not up: %s\nwant               %s", got, want)
		}
		if got, want := councilMetrics(c.members["b"]), `number 1; settled 1; change{phase="learning"} 1; waits_for{peer="d"} 1; members{role="voter"} 3; members{role="observer"} 1; given_up 0; file_differs 1`; got != want {
			t.Errorf("while d is not up: %s\nwant               %s", got, want)
		}
		for i := range now.Members {
			m := &now.Members[i]
			if up := m.Name != "d"; m.Adopted != up || m.Settled != up || up && m.Learnt != 2 || m.Leaving != (m.Name == "c") || m.New == up {
				t.Errorf("%s shows as %+v", m.Name, m)
			}
		}
		c.welcome("d")
		c.expect("d is up", []string{"a", "b", "d"}, "a", "b", "d")
		now = c.members["a"].Council()
		if got, want := now.Difference(&before), "member d added, member c removed"; got != want {
			t.Errorf("what became of it: %q, want %q", got, want)
		}
		if got, want := now.Progress(), fmt.Sprintf("number %d", now.Number); got != want || now.Running() {
			t.Errorf("in the end: %s, want %s", got, want)
		}
		if !strings.Contains(now.FileDiffers, "the file lists a b c, and the council is a b d") {
			t.Errorf("the file differs: %q", now.FileDiffers)
		}
	})
}
