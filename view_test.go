package regent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/why"
)

func TestViewsAreReadAsTheyAreWritten(t *testing.T) {
	agreed := &Agreement{Number: 3, Members: []string{"a", "b"}, Failed: []string{"c"}, Joined: []string{"b"}, Unfinished: []string{"d"}, Recover: true, Stalled: "d"}
	for k := why.Unexplained; k <= why.TooMany; k++ {
		v := View{Group: "g", Mode: Consistent, Leader: "a", Token: 7, Mine: true, Stopping: true, Support: []string{"a"}, Round: 8, Agreement: agreed,
			Cause: Cause{Why: k, Member: "b", Bound: time.Second}, At: time.Unix(12, 34).UTC(), Missed: 2}
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
	cause := Cause{Why: why.Suspected, Member: "a", Bound: 150 * time.Millisecond}
	for _, c := range []struct {
		v    View
		want string
	}{
		{View{Group: "g", Mode: Quorum, Cause: Cause{Why: why.Started}},
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
	cause := Cause{Why: why.Elected, Member: "a"}
	for _, c := range []struct {
		v    View
		want string
	}{
		{View{Group: "g", Mode: Quorum, Cause: Cause{Why: why.NoQuorum, Bound: time.Second}}, "g: no leader (no quorum (for 1s))"},
		{View{Group: "g", Mode: Quorum, Leader: "a", Token: 7, Cause: cause}, "g: a leads with token 7 (elected a)"},
		{View{Group: "g", Mode: Local, Cause: cause}, "g: no local leader (elected a)"},
		{View{Group: "g", Mode: Local, Leader: "a", Support: []string{"a", "b"}, Cause: cause}, "g: a leads a, b locally (elected a)"},
		{View{Group: "g", Mode: Eventual, Leader: "a", Round: 3, Cause: cause}, "g: a is trusted (elected a)"},
		{View{Group: "g", Mode: Consistent, Cause: Cause{Why: why.Excluded}}, "g: not a member (excluded)"},
		{View{Group: "g", Mode: Consistent, Leader: "a", Token: 7, Agreement: &Agreement{Members: []string{"a", "b"}, Failed: []string{"c"}}, Cause: cause},
			"g: a, b, managed by a; failed: c (elected a)"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A watch that its caller ends ends without a word. One that the member ends reports it, with a view that names no leader.
func TestWatchReportsWhyItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, func(c *Config) { c.Consistent = true }, "a")["a"]
		l := must(must(m.Group("g")).Campaign(t.Context()))
		go func() { <-l.Done(); _ = l.Resign(t.Context()) }()
		type watched interface {
			Name() string
			View(context.Context) (View, error)
			Watch(context.Context) iter.Seq2[View, error]
		}
		groups := map[Mode]watched{Quorum: must(m.Group("g")), Local: must(m.LocalGroup("g")), Eventual: must(m.EventualGroup("g", "")), Consistent: must(m.ConsistentGroup("g"))}
		type end struct {
			mode Mode
			last View
			err  error
		}
		ends := make(chan end, 2*len(groups))
		over, cancel := context.WithCancel(t.Context())
		for mode, g := range groups {
			for _, ctx := range []context.Context{t.Context(), over} {
				go func() {
					e := end{mode: mode}
					for e.last, e.err = range g.Watch(ctx) {
						if e.last.Mode != mode || e.last.Group != "g" {
							t.Errorf("a watch of a %s group yields %+v", mode, e.last)
						}
					}
					ends <- e
				}()
			}
		}
		synctest.Wait()
		cancel()
		for range groups {
			if e := <-ends; e.err != nil {
				t.Errorf("%s: its caller ended the watch: %v", e.mode, e.err)
			}
		}
		if err := m.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range groups {
			if e := <-ends; !errors.Is(e.err, ErrClosed) || e.last.Leader != "" || e.last.Cause.Why != why.Closed {
				t.Errorf("%s: the member was closed: %v, %v", e.mode, e.last, e.err)
			}
		}
	})
}
