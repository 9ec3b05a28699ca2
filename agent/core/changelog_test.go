package core

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
)

// Whoever may campaign may do so under one new name after the other. What nobody leads any more is forgotten in the end, the
// oldest first; what somebody leads is not.
func TestChangeLogForgetsGroupsThatNobodyLeads(t *testing.T) {
	const keep = 100
	b := NewChangeLog(nil)
	b.maxIdle = keep
	b.AddView(regent.View{Mode: regent.Quorum, Group: "led", Leader: "a", Token: 1})
	b.AddView(regent.View{Group: "local", Mode: regent.Local})
	name := func(i int) string { return fmt.Sprint("g", i) }
	const n = 3 * keep
	for i := range n {
		b.AddView(regent.View{Mode: regent.Quorum, Group: name(i), Leader: "a", Token: uint64(i + 2)})
		b.AddView(regent.View{Mode: regent.Quorum, Group: name(i)})
	}
	if len(b.groups) > keep+2 || len(b.leaderChanges) > len(b.groups) || len(b.groups) < keep/2 {
		t.Errorf("%d groups and %d counts are kept", len(b.groups), len(b.leaderChanges))
	}
	if b.idle != len(b.groups)-2 {
		t.Errorf("%d groups without a leader are counted, of %d", b.idle, len(b.groups)-2)
	}
	for group, want := range map[string]bool{"led": true, "local": true, name(n - 1): true, name(0): false} {
		if c, _ := b.Group(group); (c != nil) != want {
			t.Errorf("%s: known %v", group, c != nil)
		}
	}
	// One that is led again is no longer idle.
	b.AddView(regent.View{Mode: regent.Quorum, Group: name(n - 1), Leader: "b", Token: n + 3})
	if b.idle != len(b.groups)-3 {
		t.Errorf("%d groups without a leader are counted, of %d", b.idle, len(b.groups)-3)
	}
}

// A group that nobody leads and no program here uses leaves all lists after a while, with all that was kept of it but its history.
func TestGroupsThatNobodyUsesLeaveTheLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewChangeLog(func(c *api.Change) bool { return c.Group == "used" })
		for _, name := range []string{"led", "used", "over"} {
			l.AddView(regent.View{Mode: regent.Quorum, Group: name, Leader: "a", Token: 1})
		}
		l.AddView(regent.View{Group: "local", Mode: regent.Local})
		l.AddView(regent.View{Mode: regent.Quorum, Group: "used"})
		l.AddView(regent.View{Mode: regent.Quorum, Group: "over"})
		listed := func() string {
			var names []string
			found, _ := l.List("", "", 0)
			for _, c := range found {
				names = append(names, c.Group)
			}
			return strings.Join(names, " ")
		}
		time.Sleep(idleFor)
		if got := listed(); got != "led local over used" {
			t.Errorf("after %v: %s", idleFor, got)
		}
		time.Sleep(2 * sweepInterval)
		if got := listed(); got != "led local used" {
			t.Errorf("later: %s", got)
		}
		if len(l.groups) != 3 || len(l.leaderChanges) != 2 || l.idle != 1 {
			t.Errorf("%d groups and %d counts are kept, %d idle", len(l.groups), len(l.leaderChanges), l.idle)
		}
		if n := len(l.History("over", 10)); n != 2 {
			t.Errorf("%d changes of it are in the history", n)
		}
	})
}

// How a leadership ended may be known only after its group was forgotten. The history gets it, and nothing of the group is kept.
func TestLateEndOfAForgottenGroupLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewChangeLog(func(*api.Change) bool { return false })
		l.AddView(regent.View{Mode: regent.Quorum, Group: "over", Leader: "a", Token: 1})
		l.AddView(regent.View{Mode: regent.Quorum, Group: "over"})
		time.Sleep(idleFor + sweepInterval)
		if found, _ := l.List("", "", 0); len(found) != 0 {
			t.Fatalf("%d groups are listed", len(found))
		}
		l.recordEnd("over", 1, "it died")
		if h := l.History("over", 10); len(h) != 2 || h[1].Ended != "it died" || len(l.endReasons) != 0 {
			t.Errorf("history %v, and %d reasons are kept", h, len(l.endReasons))
		}
		l.recordEnd("unheard", 1, "it died")
		time.Sleep(idleFor / 2)
		if l.List("", "", 0); len(l.endReasons) != 1 {
			t.Error("the reason is forgotten before the group is heard of")
		}
		time.Sleep(idleFor)
		if l.List("", "", 0); len(l.endReasons) != 0 {
			t.Error("the reason stays")
		}
	})
}
