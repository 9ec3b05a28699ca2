package link

import (
	"slices"
	"testing"
)

func TestBothEndsComeUpAsSessionOneAndWordsArriveInOrder(t *testing.T) {
	a, b := newSide(t, 0, 7), newSide(t, 1, 3)
	run(0, 100*ms, a, b)
	for _, s := range []*side{a, b} {
		if session, up := s.links.Up(1 - s.me.Rank); !up || session != 1 || len(s.saw) != 1 {
			t.Fatalf("%v: session %d, up %v, after %v", s.me, session, up, s.saw)
		}
	}
	for n := range uint64(5) {
		if !a.say(100*ms, n) {
			t.Fatal("the link is up, but takes no word")
		}
	}
	talk(100*ms, a, b)
	if !slices.Equal(b.words, []uint64{0, 1, 2, 3, 4}) {
		t.Fatalf("b heard %v", b.words)
	}
}
