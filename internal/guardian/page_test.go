package guardian

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"pgregory.net/rapid"
)

// mortal is memory of a member that dies after so many stores.
type mortal struct {
	words []uint64
	left  int
}

func newMortal(slots int) *mortal { return &mortal{make([]uint64, Size(slots)), 1 << 30} }

func (m *mortal) Len() int          { return len(m.words) }
func (m *mortal) Load(i int) uint64 { return m.words[i] }
func (m *mortal) Store(i int, v uint64) {
	if m.left--; m.left >= 0 {
		m.words[i] = v
	}
}

// names are the groups that a statement keeps.
func names(s *Statement) []protocol.Group {
	kept, _ := s.Keeps(nil)
	return kept
}

func newPage(t testing.TB, w *mortal, slots int) *Page {
	t.Helper()
	p, err := NewPage(w, slots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A member dies at any store. Every group that it has kept by then, and does not forget, is kept.
func TestKeptGroupsStayKeptWhereverTheMemberDies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const slots = 4
		w := newMortal(slots)
		p, err := NewPage(w, slots)
		if err != nil {
			t.Fatal(err)
		}
		p.SetMode(WithinProcess)
		w.left = rapid.IntRange(0, 400).Draw(t, "stores")
		kept := make(map[protocol.Group]int)
		var during protocol.Group // what the member was about when it died
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			g := protocol.Group(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", strings.Repeat("long", 64)}).Draw(t, "group"))
			if rapid.Bool().Draw(t, "keep") {
				p.Keep(g)
				if w.left < 0 {
					during = g
					break
				}
				kept[g] = 1
			} else {
				kept[g] = 0
				p.Forget(g)
				if w.left < 0 {
					during = g
					break
				}
			}
		}
		s, err := Read(w)
		if err != nil {
			return // all are kept
		}
		want := 0
		for g, n := range kept {
			if n == 0 || g == during {
				continue
			}
			want++
			if !slices.Contains(names(&s), g) {
				t.Fatalf("%q is not kept: %v", g, s.Kept)
			}
		}
		if w.left >= 0 && len(s.Kept) != want {
			t.Fatalf("keeps %v, want %d groups", s.Kept, want)
		}
		if !slices.IsSorted(names(&s)) {
			t.Fatalf("not in order: %v", s.Kept)
		}
	})
}

func TestPageThatIsAboutToChangeIsNotRead(t *testing.T) {
	w := newMortal(1)
	p := newPage(t, w, 1)
	w.left = 3
	p.Keep("billing")
	if s, err := Read(w); !errors.Is(err, errTorn) {
		t.Fatalf("got %+v, %v", s, err)
	}
}

func TestGroupsBeyondTheSlotsKeepAllUntilTheyAreForgotten(t *testing.T) {
	w := newMortal(1)
	p := newPage(t, w, 1)
	p.Keep("a")
	p.Keep("b")
	if s, err := Read(w); !errors.Is(err, errUnlisted) {
		t.Fatalf("got %+v, %v", s, err)
	}
	p.Forget("b")
	if s, err := Read(w); err != nil || !slices.Equal(names(&s), []protocol.Group{"a"}) {
		t.Fatalf("got %+v, %v", s, err)
	}
}

func TestPageHasTheHighestProofAndTheLastNumbers(t *testing.T) {
	w := newMortal(0)
	p := newPage(t, w, 0)
	p.Prove(100)
	p.Prove(50)
	p.Number(2, 7)
	p.SetMode(WithinProcess)
	if s, err := Read(w); err != nil || s.Proof != 100 || s.Mode != WithinProcess {
		t.Fatalf("got %+v, %v", s, err)
	}
	if NumberOf(w, 2) != 7 || NumberOf(w, protocol.MaxMembers-1) != 0 {
		t.Error("the number of another member is shown")
	}
}

func TestPageWorksWithAHundredThousandGroups(t *testing.T) {
	const n = 100_000
	w := newMortal(n)
	p := newPage(t, w, n)
	for i := range n {
		p.Keep(protocol.Group(fmt.Sprintf("group-%d", i)))
	}
	if s, err := Read(w); err != nil || len(s.Kept) != n {
		t.Fatalf("%d kept, %v", len(s.Kept), err)
	}
	for i := range n {
		p.Forget(protocol.Group(fmt.Sprintf("group-%d", i)))
	}
	if s, err := Read(w); err != nil || len(s.Kept) != 0 {
		t.Fatalf("%d kept, %v", len(s.Kept), err)
	}
}

func TestForeignMemoryIsNoPage(t *testing.T) {
	w := newMortal(2)
	if _, err := Read(w); err == nil {
		t.Error("memory of zeros is read")
	}
	newPage(t, w, 2)
	w.words[wordSlots] = 3
	if _, err := Read(w); err == nil {
		t.Error("a page is read that is too short for its slots")
	}
	w.words[wordSlots] = 2
	w.words[slotWord(1)] = maxName + 1
	if _, err := Read(w); err == nil {
		t.Error("a name is read that is too long")
	}
	if _, err := NewPage(w, 3); err == nil {
		t.Error("a page is made that is too short")
	}
}
