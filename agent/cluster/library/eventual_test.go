package library_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/why"
)

// eventual opens a group at members.
func (h *inMemory) eventual(group string, kind elector.Kind, names ...string) map[string]*regent.EventualGroup {
	h.t.Helper()
	groups := make(map[string]*regent.EventualGroup)
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
func agreed(groups map[string]*regent.EventualGroup) string {
	leader := ""
	for _, g := range groups {
		switch v := view(g); {
		case v.Leader == "", leader != "" && leader != v.Leader:
			return ""
		default:
			leader = v.Leader
		}
	}
	return leader
}

// settled waits until all agree, and have for a second, and returns on whom; nothing if they do not in time.
func settled(groups map[string]*regent.EventualGroup, within time.Duration) string {
	const step = 50 * time.Millisecond
	leader, since := "", time.Duration(0)
	for range within / step {
		now := agreed(groups)
		since += step
		if now == "" || now != leader {
			leader, since = now, 0
		}
		if leader != "" && since >= time.Second {
			return leader
		}
		// wall clock: not at all, because this is called in bubbles
		time.Sleep(step)
	}
	return ""
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
				if g := groups[first]; !view(g).Mine || g.Elector() != kind || leader(g) != first {
					t.Errorf("%s sees %v", first, view(g))
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

// What a machine numbered before it was taken away must not make the next one look dead.
func TestMemberThatOpensAGroupAgainCountsAsAlive(t *testing.T) {
	for _, kind := range eventual {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := assemble(t, three...)
				groups := h.eventual("g", kind, three...)
				time.Sleep(5 * time.Minute)
				groups["b"].Close()
				time.Sleep(2 * time.Second)
				groups["b"] = h.eventual("g", kind, "b")["b"]
				time.Sleep(2 * time.Second)
				groups["a"].Close()
				delete(groups, "a")
				time.Sleep(20 * time.Second) // whoever hears too few gives up meanwhile
				if leader := agreed(groups); leader != "b" && leader != "c" {
					t.Errorf("they trust %q: %v and %v", leader, view(groups["b"]), view(groups["c"]))
				}
			})
		})
	}
}

// Witnesses and observers take no part, so nobody waits for them. They may rank before those that do.
func TestElectorsRunAmongThoseThatMayLead(t *testing.T) {
	for _, kind := range eventual {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newInMemory(t, "a", "b", "c", "d", "w", "x", "y", "z")
				var all sync.WaitGroup
				for _, n := range h.Names {
					c := h.config(n)
					for i := range c.Council {
						p := &c.Council[i]
						p.Witness = p.Name == "a" || p.Name == "c"
						p.Observer = p.Name > "w"
					}
					all.Go(func() {
						if _, err := h.joinAs(c); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				groups := h.eventual("g", kind, "b", "d", "w")
				first := settled(groups, 10*time.Second)
				if first == "" {
					t.Fatalf("they do not agree: %v", view(groups["b"]))
				}
				groups[first].Close()
				delete(groups, first)
				second := settled(groups, 10*time.Second)
				if second == "" || second == first {
					t.Fatalf("after %s they trust %q", first, second)
				}
				if round := view(groups[second]).Round; (kind == elector.Stable) != (round > 0) {
					t.Errorf("this is round %d", round)
				}
			})
		})
	}
}

func TestMemberThatIsNotWellIsNotTrusted(t *testing.T) {
	for _, kind := range eventual {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := assemble(t, three...)
				groups := h.eventual("g", kind, three...)
				first := settled(groups, 10*time.Second)
				if first == "" {
					t.Fatal("they do not agree")
				}
				h.members[first].SetHealth(errors.New("the disk is full"))
				time.Sleep(10 * time.Millisecond)
				if v := view(groups[first]); v.Mine || v.Leader == "" && v.Cause.Why != why.Unhealthy {
					t.Errorf("it is not well, and sees %v", v)
				}
				if second := settled(groups, 10*time.Second); second == "" || second == first {
					t.Fatalf("%s is not well, and they trust %q", first, second)
				}
				// A member that opens the group when it is ill already is no better.
				ill := h.eventual("other", kind, first)[first]
				time.Sleep(5 * time.Second)
				if v := view(ill); v.Mine {
					t.Errorf("alone, and not well: %v", v)
				}
				h.members[first].SetHealth(nil)
				time.Sleep(5 * time.Second)
				if kind == elector.Stable && !view(ill).Mine {
					t.Errorf("alone, and well again: %v", view(ill))
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
		if settled(groups, 10*time.Second) == "" {
			t.Fatal("they do not agree")
		}
		h.rule("partition a / b / c")
		time.Sleep(2 * time.Second)
		v := view(groups["c"])
		if v.Cause.Bound <= 0 || !strings.Contains(v.String(), "no quorum (for ") {
			t.Errorf("%v: blocked for %v", v, v.Cause.Bound)
		}
		time.Sleep(10 * time.Second)
		if v := view(groups["c"]); v.Leader != "" {
			t.Errorf("after ten seconds alone %v", v)
		}
		h.rule("heal")
		if leader, v := settled(groups, 10*time.Second), view(groups["c"]); leader == "" || v.Cause.Why == why.NoQuorum {
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

// In a square without diagonals everybody hears two others, and nobody hears all.
func TestViewSaysThatNobodyIsAccessible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d")
		h.rule("cut a c both")
		h.rule("cut b d both")
		groups := h.eventual("g", elector.Stable, "a", "b", "c", "d")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seen := false
		for v := range groups["a"].Watch(ctx) {
			seen = v.Cause.Why == why.NoAccess
			if seen {
				if !strings.Contains(v.String(), "nobody accessible") {
					t.Errorf("it reads %v", v)
				}
				break
			}
		}
		if !seen {
			t.Error("not in a minute")
		}
		synctest.Wait() // what is seen is told before it is logged
		const warning = "no member has good links with all others"
		if s := h.members["a"].Status(); !s.NoAccess || !strings.Contains(h.Logs(), warning) {
			t.Errorf("nobody was warned: %+v", s)
		}
		// The elector of the council is no better off, while a quorum can be had.
		l, err := must(h.members["a"].Group("q")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if time.Sleep(30 * time.Second); strings.Contains(h.Logs(), "mode=quorum") {
				break
			}
		}
		if !l.Valid() || !strings.Contains(h.Logs(), "mode=quorum") {
			t.Errorf("the lease is valid: %v; the council's elector was not warned of", l.Valid())
		}
		h.rule("heal")
		if settled(groups, 20*time.Second) == "" {
			t.Error("healed, and they do not agree")
		}
		time.Sleep(time.Minute)
		if h.members["a"].Status().NoAccess {
			t.Error("healed, and the warning stands")
		}
		if n := strings.Count(h.Logs(), warning); n > 8 {
			t.Errorf("%d warnings: one at each of four members, for each of two electors, is enough", n)
		}
	})
}
