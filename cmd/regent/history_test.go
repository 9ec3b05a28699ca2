package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

// A host that led many groups died: that is one row, unless the changes of each group are asked for.
func TestOneCrashIsOneRow(t *testing.T) {
	now := time.Date(2026, 11, 19, 14, 30, 0, 0, time.UTC)
	var h api.History
	for i := range 30 {
		g := fmt.Sprintf("g%02d", i)
		view := func(leader string, token uint64, k why.Kind, of string, after time.Duration) api.Change {
			return api.Change{View: regent.View{Group: g, Mode: regent.Quorum, Leader: leader, Token: token, Cause: because(k, of), At: now.Add(after)}}
		}
		h.Changes = append(h.Changes, view("a", 1, why.Elected, "a", time.Duration(i)*time.Second), view("", 0, why.LeaseExpired, "a", time.Minute), view("b", 2, why.Elected, "b", time.Minute+31*time.Millisecond))
	}
	r := newHistory(&h, &filter{})
	rows := r.rows(false, true, now)
	if len(rows) != 31 || strings.Join(rows[30], "|") != "14:31:00|g00 and 29 more|b|-|a did not renew its lease; b leads after 31 ms" {
		t.Errorf("%d rows, the last is %q", len(rows), rows[len(rows)-1])
	}
	if rows := r.rows(false, false, now); len(rows) != 60 {
		t.Errorf("%d rows of single groups", len(rows))
	}
	r.cut(7)
	if len(r.Changes) != 7 || r.Changes[6].To != "b" {
		t.Errorf("cut to %v", r.Changes)
	}
}
