package regent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// trusts returns whom a member trusts to be alive.
func trusts(m *Member) (names []string) {
	for _, p := range m.Members() {
		if p.Trusted {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestMembersTrustThoseThatAreAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d")
		check := func(what string, want ...string) {
			t.Helper()
			time.Sleep(20 * LAN.Suspect)
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
		if err := h.members["c"].Close(); err != nil {
			t.Fatal(err)
		}
		check("c has left", "a", "b", "d")
		if _, err := h.join("c"); err != nil {
			t.Fatal(err)
		}
		check("c has joined again", "a", "b", "c", "d")
	})
}
