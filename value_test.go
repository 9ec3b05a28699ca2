package regent

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The log shows names and values of peers escaped.
func TestLogShowsNoControlCharacters(t *testing.T) {
	var out bytes.Buffer
	m := &Member{config: Config{Name: "a"}, log: slog.New(slog.NewTextHandler(&out, nil))}
	m.note(&View{Group: "g\x1b[2J", Mode: Quorum, Leader: "a", Mine: true, Value: "http://a/\u202e\r\n"})
	if text := out.String(); strings.ContainsAny(text, "\x1b\r\u202e") || strings.Count(text, "\n") != 1 || !strings.Contains(text, `u202e`) {
		t.Errorf("the log has %q", text)
	}
}

// Every member shows what the leader announced, its changes, and nothing once the leadership is over.
func TestMembersShowTheValueOfTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := assemble(t, nil, "a", "b", "c")
		value := func(want string) {
			t.Helper()
			time.Sleep(100 * time.Millisecond)
			for name, m := range all {
				if v := must(must(m.Group("g")).View(t.Context())); v.Value != want {
					t.Errorf("%s shows %q, want %q: %v", name, v.Value, want, v)
				}
				p, err := must(m.Group("g")).Verify(t.Context())
				if err != nil || p.Value != want {
					t.Errorf("%s: the leader confirms %+v, %v, want %q", name, p, err, want)
				}
			}
		}
		l, err := must(all["a"].Group("g")).Announcing("http://a").Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		value("http://a")
		if v := must(must(all["b"].Group("g")).View(t.Context())).String(); !strings.Contains(v, "a leads with token 1 at http://a") {
			t.Errorf("the view reads %q", v)
		}
		for _, next := range []string{"http://a:2", "", "http://a:3"} {
			if err := l.Announce(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			value(next)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Announce(t.Context(), "too late"); !errors.Is(err, ErrNotLeader) {
			t.Errorf("announced after the end: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		if v := must(must(all["b"].Group("g")).View(t.Context())); v.Value != "" || v.Leader != "" {
			t.Errorf("after the end the view is %v", v)
		}
		if _, err := must(all["b"].Group("g")).Campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		value("")
	})
}

func TestValuesThatCannotBeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		for _, wrong := range []string{strings.Repeat("x", 257), "\xff"} {
			if _, err := must(m.Group("g")).Announcing(wrong).Campaign(t.Context()); err == nil || !strings.Contains(err.Error(), "value") {
				t.Errorf("a campaign with %.10q: %v", wrong, err)
			}
		}
		l, err := must(m.Group("g")).Announcing(strings.Repeat("x", 256)).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Announce(t.Context(), strings.Repeat("x", 257)); err == nil {
			t.Error("a value of 257 bytes was taken")
		}
	})
}

// A value may hold any characters. What people read must not turn their terminal around.
func TestAViewShowsAValueEscaped(t *testing.T) {
	v := View{Group: "g", Leader: "a", Token: 1, Value: "\x1b[2Jx\u202ey\u200bz\n\\"}
	if got, want := v.String(), `g: a leads with token 1 at \x1b[2Jx\u202ey\u200bz\n\\ (unexplained)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A program that announces without pause does not set the rate at which members publish views.
func TestValuesOfAMemberAreBoundedInTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var views atomic.Int64
		m := assemble(t, func(c *Config) { c.OnChange = func(View) { views.Add(1) } }, "a")["a"]
		g := must(m.Group("g"))
		l := must(g.Campaign(t.Context()))
		const each = 100 * time.Microsecond
		for i := range 5000 {
			if err := l.Announce(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(each)
		}
		time.Sleep(time.Second)
		most := int64(5000*each/(m.config.Timing.RoundTrip/4)) + 5
		if n := views.Load(); n > most || n < most/2 {
			t.Errorf("%d views in %v, want at most %d", n, 5000*each, most)
		}
		if v := must(g.View(t.Context())); v.Value != "4999" {
			t.Errorf("the last value is %q", v.Value)
		}
	})
}
