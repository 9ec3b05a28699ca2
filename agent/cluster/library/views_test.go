package library_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A member that is cut off answers nobody, and goes on believing what it knew: its view alone is not the truth.
func TestViewsAreThoseOfAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		views := func(at string) string {
			t.Helper()
			all, err := h.members[at].Views(t.Context(), "g")
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, v := range all {
				switch {
				case !v.Answered:
					out = append(out, v.Member+" is silent")
				case v.Leader == "":
					out = append(out, v.Member+" none")
				default:
					out = append(out, fmt.Sprintf("%s %s %d", v.Member, v.Leader, v.Token))
				}
			}
			return strings.Join(out, ", ")
		}
		time.Sleep(time.Second)
		if got, want := views("b"), "a none, b none, c none"; got != want {
			t.Errorf("before anybody leads: %s", got)
		}
		if _, err := must(h.members["a"].Group("g")).Campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got, want := views("b"), "a a 1, b a 1, c a 1"; got != want {
			t.Errorf("while all hear one another: %s", got)
		}
		h.must(h.Link("cut c *"))
		if got, want := views("b"), "a a 1, b a 1, c is silent"; got != want {
			t.Errorf("while c is cut off: %s", got)
		}
		time.Sleep(time.Minute)
		if got, want := views("c"), "a is silent, b is silent, c a 1"; got != want {
			t.Errorf("at c: %s", got)
		}
		if _, err := h.members["a"].Views(t.Context(), ""); err == nil {
			t.Error("a group without a name has views")
		}
	})
}
