package protocol_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

// reference is what a Set stands for, written so plainly that it cannot be wrong.
type reference map[protocol.Rank]bool

func (w reference) with(o reference) reference {
	u := maps.Clone(w)
	maps.Copy(u, o)
	return u
}

func (w reference) only(keep func(protocol.Rank) bool) reference {
	u := reference{}
	for r := range w {
		if keep(r) {
			u[r] = true
		}
	}
	return u
}

func (w reference) sorted() []protocol.Rank { return slices.Sorted(maps.Keys(w)) }

// ranks prefers the places where words of the representation meet, and a few members that collide often.
func ranks() *rapid.Generator[protocol.Rank] {
	return rapid.OneOf(
		rapid.SampledFrom([]protocol.Rank{0, 1, 62, 63, 64, 65, 127, 128, 511, 512, 959, 960, 998, 999}),
		rapid.Map(rapid.Uint16Range(0, 7), func(r uint16) protocol.Rank { return protocol.Rank(r) }),
		rapid.Map(rapid.Uint16Range(0, protocol.MaxMembers-1), func(r uint16) protocol.Rank { return protocol.Rank(r) }),
	)
}

func drawReference(t *rapid.T, label string) (protocol.Set, reference) {
	members := rapid.SliceOfN(ranks(), 0, 40).Draw(t, label)
	w := reference{}
	for _, r := range members {
		w[r] = true
	}
	return protocol.NewSet(members...), w
}

// same compares by everything that can be read out of a set.
func same(t *rapid.T, what string, s protocol.Set, w reference) {
	t.Helper()
	want := w.sorted()
	if got := slices.Collect(s.All()); !slices.Equal(got, want) {
		t.Fatalf("%s: members %v, want %v", what, got, want)
	}
	if s.Len() != len(want) || s.Empty() != (len(want) == 0) {
		t.Fatalf("%s: Len %d, Empty %v of %v", what, s.Len(), s.Empty(), want)
	}
	best := protocol.Nobody
	if len(want) > 0 {
		best = want[0]
	}
	if s.Min() != best {
		t.Fatalf("%s: Min %v, want %v", what, s.Min(), best)
	}
	if s != protocol.NewSet(want...) {
		t.Fatalf("%s: not == to a set of the same members %v", what, want)
	}
	names := make([]string, len(want))
	for i, r := range want {
		names[i] = r.String()
	}
	if got, want := s.String(), "{"+strings.Join(names, " ")+"}"; got != want {
		t.Fatalf("%s: String %q, want %q", what, got, want)
	}
}

func TestSetBehavesLikeAMapOfMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := drawReference(t, "s")
		o, v := drawReference(t, "o")
		t.Repeat(map[string]func(*rapid.T){
			"add":     func(t *rapid.T) { r := ranks().Draw(t, "r"); s.Add(r); w[r] = true },
			"remove":  func(t *rapid.T) { r := ranks().Draw(t, "r"); s.Remove(r); delete(w, r) },
			"with":    func(t *rapid.T) { r := ranks().Draw(t, "r"); s = s.With(r); w[r] = true },
			"without": func(t *rapid.T) { r := ranks().Draw(t, "r"); s = s.Without(r); delete(w, r) },
			"has": func(t *rapid.T) {
				if r := ranks().Draw(t, "r"); s.Has(r) != w[r] {
					t.Fatalf("Has(%v) = %v", r, s.Has(r))
				}
			},
			"other":     func(t *rapid.T) { o, v = drawReference(t, "o") },
			"union":     func(t *rapid.T) { s, w = s.Union(o), w.with(v) },
			"intersect": func(t *rapid.T) { s, w = s.Intersect(o), w.only(func(r protocol.Rank) bool { return v[r] }) },
			"minus":     func(t *rapid.T) { s, w = s.Minus(o), w.only(func(r protocol.Rank) bool { return !v[r] }) },
			"contains": func(t *rapid.T) {
				if want := len(v.only(func(r protocol.Rank) bool { return !w[r] })) == 0; s.Contains(o) != want {
					t.Fatalf("%v.Contains(%v) = %v", s, o, !want)
				}
			},
			"": func(t *rapid.T) { same(t, "s", s, w); same(t, "o", o, v) },
		})
	})
}

func TestContainsHoldsForEveryPartOfASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := drawReference(t, "a")
		b, _ := drawReference(t, "b")
		u, i := a.Union(b), a.Intersect(b)
		if !u.Contains(a) || !u.Contains(b) || !a.Contains(i) || !b.Contains(i) {
			t.Fatalf("%v and %v: union %v, intersection %v", a, b, u, i)
		}
		if m := a.Minus(b); m.Empty() != b.Contains(a) {
			t.Fatalf("%v contains %v: %v, but the difference is %v", b, a, b.Contains(a), m)
		}
	})
}

func TestEveryoneIsTheFirstMembers(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 2, 63, 64, 65, 127, 128, 129, 960, 999, protocol.MaxMembers} {
		s := protocol.Everyone(n)
		if s.Len() != max(n, 0) {
			t.Errorf("Everyone(%d) has %d members", n, s.Len())
		}
		for r := range protocol.Rank(protocol.MaxMembers) {
			if s.Has(r) != (int(r) < n) {
				t.Errorf("Everyone(%d).Has(%d) = %v", n, r, s.Has(r))
			}
		}
	}
}

func TestNobodyIsInNoSet(t *testing.T) {
	s := protocol.Everyone(protocol.MaxMembers)
	if s.Has(protocol.Nobody) {
		t.Error("everyone has nobody among them")
	}
	if s.Without(protocol.Nobody) != s {
		t.Error("taking nobody out changed the set")
	}
	defer func() {
		if recover() == nil {
			t.Error("nobody could be added to a set")
		}
	}()
	s.Add(protocol.Nobody)
}

func TestIterationCanStopEarly(t *testing.T) {
	s := protocol.NewSet(3, 70, 999)
	var seen []protocol.Rank
	for r := range s.All() {
		seen = append(seen, r)
		if r == 70 {
			break
		}
	}
	if !slices.Equal(seen, []protocol.Rank{3, 70}) {
		t.Errorf("saw %v", seen)
	}
}

func TestIterationIsNotDisturbedByChangesToTheSet(t *testing.T) {
	s := protocol.Everyone(130)
	n := 0
	for r := range s.All() {
		s.Remove(r + 1) // the loop variable's successor: a live iteration would skip it
		n++
	}
	if n != 130 {
		t.Errorf("saw %d of the 130 members that the set had when the loop began", n)
	}
}

func TestSetOperationsDoNotAllocate(t *testing.T) {
	a, b := protocol.Everyone(700), protocol.NewSet(3, 64, 999)
	var sink int
	operations := map[string]func(){
		"Add":       func() { a.Add(7) },
		"Union":     func() { c := a.Union(b); sink += c.Len() },
		"Intersect": func() { c := a.Intersect(b); sink += c.Len() },
		"Minus":     func() { c := a.Minus(b); sink += c.Len() },
		"With":      func() { c := a.With(9); sink += c.Len() },
		"Without":   func() { c := a.Without(9); sink += c.Len() },
		"NewSet":    func() { c := protocol.NewSet(1, 2, 999); sink += c.Len() },
		"Everyone":  func() { c := protocol.Everyone(999); sink += c.Len() },
		"Contains": func() {
			if a.Contains(b) {
				sink++
			}
		},
		"All": func() {
			for r := range a.All() {
				sink += int(r)
			}
		},
	}
	for name, f := range operations {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestSetInJSONIsItsRanksInOrder(t *testing.T) {
	got, err := json.Marshal(protocol.NewSet(3, 0, 2))
	if err != nil || string(got) != "[0,2,3]" {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = json.Marshal(struct{ S protocol.Set }{})
	if err != nil || string(got) != `{"S":[]}` {
		t.Errorf("the empty set: got %s, %v", got, err)
	}
}

func TestSetFromJSONIsRefused(t *testing.T) {
	for _, in := range []string{`[1000]`, `[-1]`, `[65535]`, `[70000]`, `{}`, `"a"`, `[1.5]`, `["a"]`, `[0`} {
		s := protocol.NewSet(5)
		if err := json.Unmarshal([]byte(in), &s); err == nil {
			t.Errorf("%s was taken as %v", in, s)
		}
		if s != protocol.NewSet(5) {
			t.Errorf("%s was refused, but changed the set to %v", in, s)
		}
	}
}

func FuzzSetJSON(f *testing.F) {
	for _, in := range []string{`[]`, `[0]`, `[0,2,3]`, `[3,0,3]`, `[999]`, `[1000]`, `null`, ` [ 63 , 64 ]`, `[1e2]`} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var s, back protocol.Set
		if json.Unmarshal(in, &s) != nil {
			return
		}
		if everyone := protocol.Everyone(protocol.MaxMembers); !everyone.Contains(s) {
			t.Fatalf("%s gave members that no council has: %v", in, s)
		}
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%v does not marshal: %v", s, err)
		}
		if err := json.Unmarshal(out, &back); err != nil || back != s {
			t.Fatalf("%v became %s and came back as %v, %v", s, out, back, err)
		}
		want, _ := json.Marshal(slices.Collect(s.All()))
		if !s.Empty() && string(out) != string(want) {
			t.Fatalf("%v marshals as %s, a slice of its members as %s", s, out, want)
		}
	})
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{5, 100, protocol.MaxMembers} {
		s, o := protocol.Everyone(n), protocol.NewSet(0, protocol.Rank(n-1))
		b.Run(fmt.Sprintf("All/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for r := range s.All() {
					if r == protocol.Nobody {
						b.Fatal("nobody")
					}
				}
			}
		})
		b.Run(fmt.Sprintf("Intersect+Len/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c := s.Intersect(o); c.Len() == 0 {
					b.Fatal("empty")
				}
			}
		})
		b.Run(fmt.Sprintf("Contains/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !s.Contains(o) {
					b.Fatal("not contained")
				}
			}
		})
		b.Run(fmt.Sprintf("Add+Remove/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Remove(1)
				s.Add(1)
			}
		})
	}
}
