package core

import (
	"slices"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/councillog"
)

// The history has changes of groups and of the council in one order, and no more of both together than were asked for.
func TestHistoryHasChangesOfTheCouncilInOrder(t *testing.T) {
	l := NewChangeLog(nil)
	watch, _ := l.Watch("", 4)
	one, _ := l.Watch("g", 4)
	l.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 1})
	l.AddCouncil(api.CouncilChange{Change: councillog.Change{Number: 1}})
	l.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 2})
	l.AddCouncil(api.CouncilChange{Change: councillog.Change{Number: 2}})
	for limit, want := range map[int][]uint64{10: {1, 3, 2, 4}, 3: {3, 2, 4}, 2: {3, 4}, 1: {4}} {
		groups, council := l.Recent(limit)
		var got []uint64
		for _, c := range groups {
			got = append(got, c.Serial)
		}
		for _, c := range council {
			got = append(got, c.Serial)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: serial numbers %v, want %v", limit, got, want)
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
