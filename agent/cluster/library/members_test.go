package library_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
)

// trusts returns whom a member trusts to be alive.
func trusts(m *regent.Member) (names []string) {
	for _, p := range m.Members() {
		if p.Trusted {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestSilentMembersAreNoticedInTime(t *testing.T) {
	five := []string{"a", "b", "c", "d", "e"}
	for gone, suspects := range map[string]float64{"e": 2, "d e": 2, "a": 3, "a b": 4.2, "a b c": 5.4} {
		t.Run(gone, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := assemble(t, five...)
				time.Sleep(10 * regent.LAN.Suspect)
				left := slices.DeleteFunc(slices.Clone(five), func(n string) bool { return strings.Contains(gone, n) })
				h.rule("partition " + strings.Join(left, " "))
				time.Sleep(time.Duration(suspects*float64(regent.LAN.Suspect)) + 2*regent.LAN.Delay)
				for _, n := range left {
					if got := trusts(h.members[n]); !slices.Equal(got, left) {
						t.Errorf("%s trusts %v", n, got)
					}
				}
			})
		})
	}
}

func TestMembersTrustThoseThatAreAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d")
		check := func(what string, want ...string) {
			t.Helper()
			time.Sleep(20 * regent.LAN.Suspect)
			for _, n := range want {
				if got := trusts(h.members[n]); !slices.Equal(got, want) {
					t.Errorf("%s: %s trusts %v", what, n, got)
				}
			}
		}
		check("all are there", "a", "b", "c", "d")
		h.rule("partition b c d")
		check("a is gone", "b", "c", "d")
		h.rule("heal")
		check("a is back", "a", "b", "c", "d")
		if err := h.members["c"].Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		check("c has left", "a", "b", "d")
		if _, err := h.join("c"); err != nil {
			t.Fatal(err)
		}
		check("c has joined again", "a", "b", "c", "d")
	})
}
