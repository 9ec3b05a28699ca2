package view

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/regentproject/regent/why"
)

func TestViewsAreReadAsTheyAreWritten(t *testing.T) {
	agreed := &Agreement{Number: 3, Members: []string{"a", "b"}, Failed: []string{"c"}, Joined: []string{"b"}, Unfinished: []string{"d"}, Recover: true, Stalled: "d"}
	for k := why.Unexplained; k <= why.TooMany; k++ {
		v := View{Group: "g", Mode: Consistent, Leader: "a", Token: 7, Mine: true, Stopping: true, Support: []string{"a"}, Round: 8, Agreement: agreed,
			Cause: why.Cause{Why: k, Member: "b", Bound: time.Second}, At: time.Unix(12, 34).UTC(), Missed: 2}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got View
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, v) {
			t.Errorf("%s was read as %+v", b, got)
		}
	}
}

func TestViewsInJSON(t *testing.T) {
	cause := why.Cause{Why: why.Suspected, Member: "a", Bound: 150 * time.Millisecond}
	for _, c := range []struct {
		v    View
		want string
	}{
		{View{Group: "g", Mode: Quorum, Cause: why.Cause{Why: why.Started}},
			`{"group":"g","mode":"quorum","leader":"","mine":false,"stopping":false,"cause":{"why":"started"}}`},
		{View{Group: "g", Mode: Local, Leader: "b", Support: []string{"b", "c"}, Cause: cause, At: time.Unix(5, 0).UTC()},
			`{"group":"g","mode":"local","leader":"b","mine":false,"stopping":false,"support":["b","c"],"cause":{"why":"suspected","member":"a","bound_ns":150000000},"at":"1970-01-01T00:00:05Z"}`},
	} {
		if b, err := json.Marshal(c.v); err != nil || string(b) != c.want {
			t.Errorf("got  %s, %v\nwant %s", b, err, c.want)
		}
	}
}

func TestViewsAsText(t *testing.T) {
	cause := why.Cause{Why: why.Elected, Member: "a"}
	for _, c := range []struct {
		v    View
		want string
	}{
		{View{Group: "g", Mode: Quorum, Cause: why.Cause{Why: why.NoQuorum, Bound: time.Second}}, "g: no leader (no quorum (for 1s))"},
		{View{Group: "g", Mode: Quorum, Leader: "a", Token: 7, Cause: cause}, "g: a leads with token 7 (elected a)"},
		{View{Group: "g", Mode: Local, Cause: cause}, "g: no local leader (elected a)"},
		{View{Group: "g", Mode: Local, Leader: "a", Support: []string{"a", "b"}, Cause: cause}, "g: a leads a, b locally (elected a)"},
		{View{Group: "g", Mode: Eventual, Leader: "a", Round: 3, Cause: cause}, "g: a is trusted (elected a)"},
		{View{Group: "g", Mode: Consistent, Cause: why.Cause{Why: why.Excluded}}, "g: not a member (excluded)"},
		{View{Group: "g", Mode: Consistent, Leader: "a", Token: 7, Agreement: &Agreement{Members: []string{"a", "b"}, Failed: []string{"c"}}, Cause: cause},
			"g: a, b, managed by a; failed: c (elected a)"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
