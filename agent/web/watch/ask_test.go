package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
)

// saidOf returns the views of all members of a group as text.
func saidOf(t *testing.T, r *reports, group string) string {
	t.Helper()
	all, err := r.views(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range all {
		out = append(out, fmt.Sprintf("%s:%v:%s", v.Member, v.Answered, v.Leader))
	}
	return strings.Join(out, " ")
}

// Pages that show groups of other modes share one question to each member, about all these groups, and a member that answers no more does not count.
func TestMembersAreAskedAboutGroupsOfAllModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{members: []regent.PeerStatus{{Name: "a", Self: true}, {Name: "b"}, {Name: "c"}}, reporting: []string{"a", "b"}}
		r := newReports(f)
		if got, want := saidOf(t, r, "cache"), "a:true:a b:true:b c:false:"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		saidOf(t, r, "cache")
		time.Sleep(time.Millisecond)
		saidOf(t, r, "search")
		saidOf(t, r, "cache") // of which the last answer has a view, too
		f.reporting = []string{"a"}
		time.Sleep(pollAge)
		if got, want := saidOf(t, r, "search"), "a:true:a b:false: c:false:"; got != want {
			t.Errorf("when b answers no more: %q, want %q", got, want)
		}
		time.Sleep(groupWanted)
		saidOf(t, r, "shards")
		if got, want := strings.Join(f.rounds, "|"), "cache|search cache|search cache|shards"; got != want {
			t.Errorf("the members were asked about %q, want %q", got, want)
		}
		if _, ok := r.latest()["b"]; ok {
			t.Error("b answers no more, and its last word counts")
		}
		for i := range 3 * groupsWanted {
			time.Sleep(time.Millisecond)
			saidOf(t, r, fmt.Sprint(i))
		}
		if last := strings.Fields(f.rounds[len(f.rounds)-1]); len(last) != groupsWanted || last[0] != fmt.Sprint(3*groupsWanted-1) {
			t.Errorf("the members were asked about %q at once", last)
		}
	})
}

// How the other members hear one another, and their pauses, are by their own word. One that this member does not hear says nothing.
func TestThePageShowsWhatTheOtherMembersSayOfThemselves(t *testing.T) {
	f := &fake{status: api.AgentStatus{Status: regent.Status{Name: "a"}}, reporting: []string{"b", "c"},
		members: []regent.PeerStatus{{Name: "a", Self: true}, {Name: "b", Heard: true}, {Name: "c", Heard: true, Silent: true}, {Name: "d", Heard: true}}}
	all := make(map[string]api.Report)
	for _, r := range f.Reports(t.Context(), nil) {
		all[r.Status.Name] = r
	}
	st := state(&f.status, f.members, nil, nil, nil, time.Hour)
	addReports(st, all)
	var links, tells []string
	for _, l := range st.Links {
		links = append(links, l.From+l.To+" "+string(l.State))
	}
	for _, m := range st.Members {
		if m.Tells {
			tells = append(tells, fmt.Sprint(m.Name, len(m.Pauses.Rungs) > 0))
		}
	}
	if want := []string{"ba slow", "ca unknown", "da slow", "xb fast"}; !slices.Equal(links, want) {
		t.Errorf("links are %v, want %v", links, want)
	}
	if want := []string{"afalse", "btrue"}; !slices.Equal(tells, want) {
		t.Errorf("%v tell of themselves, want %v", tells, want)
	}
	if st.Members[1].Pauses.Survives != time.Second || st.Members[2].State != web.Silent {
		t.Errorf("members are %+v", st.Members)
	}
}
