package core

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// numbered makes a settled council with a number.
func numbered(n uint64, names ...string) *roster.Council {
	c := councilOf(names...)
	c.Number, c.Settled = n, true
	return c
}

// under makes a council in which a change is running.
func under(n uint64, phase roster.Phase, goal []string, names ...string) *roster.Council {
	c := numbered(n, names...)
	c.Settled, c.Phase, c.By = phase != roster.Settling, phase, "b"
	for _, m := range councilOf(goal...).Members {
		c.Goal = append(c.Goal, m.Peer)
	}
	return c
}

// One change of the council is one entry, however many steps it takes, with what became of it.
func TestAChangeOfTheCouncilIsOneEntry(t *testing.T) {
	abc, abd := []string{"a", "b", "c"}, []string{"a", "b", "d"}
	asked := numbered(0, abc...)
	asked.Phase = roster.Agreeing
	out := numbered(3, abd...)
	out.Removed = true
	came := under(1, roster.Learning, abd, "a", "b", "c", "d=observer")
	came.Members[3].New = true
	for name, c := range map[string]struct {
		seen []*roster.Council
		want string
	}{
		"nothing":          {[]*roster.Council{numbered(0, abc...), numbered(0, abc...)}, ""},
		"refused":          {[]*roster.Council{numbered(0, abc...), asked, numbered(0, abc...)}, ""},
		"replaced":         {[]*roster.Council{numbered(0, abc...), asked, under(1, roster.Settling, abd, "a", "b", "c", "d=observer"), under(2, roster.Agreeing, abd, "a", "b", "c", "d"), numbered(4, abd...)}, "member d added, member c removed, number 4, took 3s, asked for at b"},
		"steps are missed": {[]*roster.Council{numbered(0, abc...), numbered(4, abd...)}, "member d added, member c removed, number 4"},
		"cancelled":        {[]*roster.Council{numbered(0, abc...), under(1, roster.Learning, abd, abc...), numbered(2, abc...)}, "change cancelled, number 2, took 1s, asked for at b"},
		"cancelled half":   {[]*roster.Council{numbered(0, abc...), under(2, roster.HandingOver, abd, "a", "b", "c", "d"), numbered(3, "a", "b", "c", "d")}, "change cancelled: member d added, number 3, took 1s, asked for at b"},
		"removed here":     {[]*roster.Council{numbered(0, abc...), under(1, roster.Agreeing, abd, abc...), out}, "this member removed, number 3, took 1s, asked for at b"},
		"a newcomer's":     {[]*roster.Council{came, numbered(4, abd...)}, "member d added, member c removed, number 4, took 1s, asked for at b"},
		"two":              {[]*roster.Council{numbered(0, "a"), numbered(1, "a", "b"), under(2, roster.Settling, abc, "a", "b"), numbered(4, abc...)}, "member b added, number 1; member c added, number 4, took 1s, asked for at b"},
	} {
		var track councilTrack
		var got []string
		for i, s := range c.seen {
			if x := track.see(time.Unix(int64(i), 0), s); x != nil {
				got = append(got, x.String())
			}
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:  %s\nwant %s", name, all, c.want)
		}
	}
}

// The history has changes of groups and of the council in one order, and no more of both together than were asked for.
func TestHistoryHasChangesOfTheCouncilInOrder(t *testing.T) {
	l := NewChangeLog(nil)
	watch, _ := l.Watch("", 4)
	one, _ := l.Watch("g", 4)
	l.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 1})
	l.AddCouncil(api.CouncilChange{Number: 1})
	l.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 2})
	l.AddCouncil(api.CouncilChange{Number: 2})
	for limit, want := range map[int][]uint64{10: {1, 3, 2, 4}, 3: {3, 2, 4}, 2: {3, 4}, 1: {4}} {
		groups, council := l.Recent(limit)
		var got []uint64
		for _, c := range groups {
			got = append(got, c.Serial)
		}
		for _, c := range council {
			got = append(got, c.Serial)
		}
		if len(got) != len(want) {
			t.Errorf("limit %d: serial numbers %v, want %v", limit, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("limit %d: serial numbers %v, want %v", limit, got, want)
			}
		}
	}
	if n := len(watch.Council); n != 2 || len(one.Council) != 0 {
		t.Errorf("the watcher of all groups got %d changes, the one of a group %d", n, len(one.Council))
	}
	for range 2 * maxCouncilChanges {
		l.AddCouncil(api.CouncilChange{})
	}
	if n := len(l.council); n > maxCouncilChanges {
		t.Errorf("%d changes are kept", n)
	}
}
