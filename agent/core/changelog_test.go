package core

import (
	"fmt"
	"testing"

	"github.com/regentproject/regent"
)

// Whoever may campaign may do so under one new name after the other. What nobody leads any more is forgotten in the end, the
// oldest first; what somebody leads is not.
func TestChangeLogForgetsGroupsThatNobodyLeads(t *testing.T) {
	const keep = 100
	b := NewChangeLog()
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
