package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/why"
)

func TestOneCauseIsOneIncident(t *testing.T) {
	lost := func(group, from, to string, after, gap time.Duration) Turnover {
		return Turnover{Group: group, Mode: Quorum, From: from, To: to, At: at(after), Gap: gap, Cause: why.Cause{Why: why.LeaseExpired, Member: from}}
	}
	var got []string
	for _, i := range Incidents([]Turnover{
		lost("a", "h1", "h2", 0, 10*time.Millisecond), lost("b", "h1", "h3", 0, 0), lost("c", "h1", "h2", 900*time.Millisecond, 31*time.Millisecond),
		lost("d", "h2", "h1", time.Second, 0), lost("e", "h1", "h2", 2*time.Second, 0), lost("a", "h1", "h2", 2500*time.Millisecond, 0), lost("a", "h1", "h2", 2600*time.Millisecond, 0),
	}) {
		var groups []string
		for _, t := range i.All {
			groups = append(groups, t.Group)
		}
		got = append(got, fmt.Sprintf("%s: %s", strings.Join(groups, " "), &i.Turnover))
	}
	want := []string{
		"a c: h1 did not renew its lease; h2 leads after 31 ms", // until the last of them had a leader
		"b: h1 did not renew its lease; h3 leads at once",       // another leader
		"d: h2 did not renew its lease; h1 leads at once",
		"e a: h1 did not renew its lease; h2 leads at once", // later
		"a: h1 did not renew its lease; h2 leads at once",   // the same group again
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
