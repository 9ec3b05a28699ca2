package regent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/protocol"
)

// eventual opens a group at members.
func (h *chamber) eventual(group string, kind elector.Kind, names ...string) map[string]*EventualGroup {
	h.t.Helper()
	groups := make(map[string]*EventualGroup)
	for _, n := range names {
		g, err := h.members[n].EventualGroup(group, kind)
		if err != nil {
			h.t.Fatal(err)
		}
		groups[n] = g
	}
	return groups
}

// agreed returns whom all trust, or nothing if they do not agree.
func agreed(groups map[string]*EventualGroup) string {
	leader := ""
	for _, g := range groups {
		switch v := g.View(); {
		case v.Leader == "", leader != "" && leader != v.Leader:
			return ""
		default:
			leader = v.Leader
		}
	}
	return leader
}

// eventual are the electors that eventual groups can have.
var eventual = []elector.Kind{elector.Stable, elector.TimeFree, elector.FSource, elector.Hybrid}

func TestEveryElectorAgreesAndReplacesTheDead(t *testing.T) {
	for _, kind := range eventual {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				five := []string{"a", "b", "c", "d", "e"}
				h := assemble(t, five...)
				groups := h.eventual("g", kind, five...)
				const long = 40 * 50 * time.Millisecond
				time.Sleep(long)
				first := agreed(groups)
				if first == "" {
					t.Fatal("they do not agree")
				}
				if g := groups[first]; !g.View().Mine || g.Elector() != kind || g.Leader() != first {
					t.Errorf("%s sees %v", first, g.View())
				}
				h.rule("partition " + strings.Join(slices.DeleteFunc(slices.Clone(five), func(n string) bool { return n == first }), " "))
				delete(groups, first)
				time.Sleep(long)
				if second := agreed(groups); second == "" || second == first {
					t.Errorf("when %s was cut off they trusted %q", first, second)
				}
			})
		})
	}
}

func TestMembersThatHaveNotOpenedAGroupCountAsDownThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.eventual("g", "", "b", "c")
		time.Sleep(2 * time.Second)
		first := agreed(groups)
		if first != "b" && first != "c" {
			t.Fatalf("they trust %q", first)
		}
		groups[first].Close()
		groups[first].Close() // once more does no harm
		delete(groups, first)
		time.Sleep(2 * time.Second)
		if second := agreed(groups); second == first || second == "" || second == "a" {
			t.Errorf("when %s had left they trusted %q", first, second)
		}
	})
}

func TestGroupCanBeOpenedAgain(t *testing.T) {
	for _, kind := range eventual {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := assemble(t, three...)
				groups := h.eventual("g", kind, three...)
				time.Sleep(2 * time.Second)
				for range 3 {
					first := agreed(groups)
					if first == "" {
						t.Fatal("they do not agree")
					}
					groups[first].Close()
					time.Sleep(2 * time.Second)
					groups[first] = h.eventual("g", kind, first)[first]
					time.Sleep(4 * time.Second)
				}
			})
		})
	}
}

func TestStableLeaderStaysWhenOthersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.eventual("g", elector.Stable, "b", "c")
		time.Sleep(2 * time.Second)
		first := agreed(groups)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		changes := 0
		go func() {
			for range 5 {
				a := h.eventual("g", elector.Stable, "a")["a"] // goes first in the council
				time.Sleep(time.Second)
				a.Close()
				time.Sleep(time.Second)
			}
		}()
		for range groups[first].Watch(ctx) {
			changes++
		}
		if changes != 1 || agreed(groups) != first {
			t.Errorf("%s led; %d views later %q does", first, changes, agreed(groups))
		}
	})
}

func TestBlockedElectorSaysForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.eventual("g", elector.TimeFree, three...)
		time.Sleep(2 * time.Second)
		if agreed(groups) == "" {
			t.Fatal("they do not agree")
		}
		h.rule("partition a / b / c")
		time.Sleep(2 * time.Second)
		v := groups["c"].View()
		if v.BlockedFor <= 0 || !strings.Contains(v.String(), "no quorum (for ") {
			t.Errorf("%v: blocked for %v", v, v.BlockedFor)
		}
		time.Sleep(10 * time.Second)
		if v := groups["c"].View(); v.Leader != "" {
			t.Errorf("after ten seconds alone %v", v)
		}
		h.rule("heal")
		time.Sleep(2 * time.Second)
		if v := groups["c"].View(); agreed(groups) == "" || v.BlockedFor != 0 {
			t.Errorf("healed: %v", v)
		}
	})
}

func TestElectorsThatCountNeedThreeMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		for _, kind := range []elector.Kind{elector.TimeFree, elector.FSource, elector.Hybrid} {
			_, err := h.members["a"].EventualGroup("g", kind)
			if err == nil || !strings.Contains(err.Error(), "at least 3") || !strings.Contains(err.Error(), "stable") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if _, err := h.members["a"].EventualGroup("g", "bully"); err == nil || !strings.Contains(err.Error(), "bully") {
			t.Errorf("an unknown elector: %v", err)
		}
		for _, kind := range []elector.Kind{elector.Rank, elector.Ring, elector.Hall} {
			if _, err := h.members["a"].EventualGroup("g", kind); err == nil || !strings.Contains(err.Error(), "quorum groups") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if _, err := h.members["a"].EventualGroup("", ""); err == nil {
			t.Error("no name was accepted")
		}
		groups := h.eventual("g", elector.Stable, "a", "b")
		time.Sleep(2 * time.Second)
		if agreed(groups) == "" {
			t.Error("two members do not agree")
		}
	})
}

// f ≤ n-2, and a minority, in councils of every size.
func TestToleratedIsAMinorityAndLeavesTwo(t *testing.T) {
	for n := 3; n <= protocol.MaxMembers; n++ {
		if f := tolerated(n); f < 1 || f > n-2 || 2*f >= n {
			t.Errorf("%d members: f is %d", n, f)
		}
	}
}

// In a square without diagonals everybody hears two others, and nobody hears all.
func TestViewSaysThatNobodyIsAccessible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d")
		h.rule("cut a c both")
		h.rule("cut b d both")
		groups := h.eventual("g", elector.Stable, "a", "b", "c", "d")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for v := range groups["a"].Watch(ctx) {
			if v.NoAccess {
				if !strings.Contains(v.String(), "nobody accessible") {
					t.Errorf("it reads %v", v)
				}
				return
			}
		}
		t.Error("not in a minute")
	})
}
