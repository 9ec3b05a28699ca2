package datagram

import (
	"testing"

	"pgregory.net/rapid"
)

// The window against a twin that remembers everything.
func TestWindowNeverTakesANumberTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		used := make(map[uint64]bool)
		top := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "numbers") {
			var n uint64
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				n = top + rapid.Uint64Range(0, 3).Draw(t, "ahead")
			case 1:
				n = top + rapid.Uint64Range(0, 5000).Draw(t, "far ahead")
			case 2:
				n = top - min(top, rapid.Uint64Range(0, 2100).Draw(t, "behind"))
			case 3:
				n = rapid.Uint64Range(0, 1<<62).Draw(t, "anywhere")
			}
			fresh := w.fresh(n)
			if fresh && used[n] {
				t.Fatalf("%d is fresh again after %d", n, top)
			}
			if !fresh && !used[n] && n != 0 && top-n < 64*(WindowWords-1) {
				t.Fatalf("%d was never used and is not fresh after %d", n, top)
			}
			if fresh {
				w.use(n)
				used[n] = true
				top = max(top, n)
			}
		}
	})
}

func TestWindowRefusesZeroAndWhatIsTooOld(t *testing.T) {
	var w window
	if w.fresh(0) {
		t.Error("zero is fresh")
	}
	w.use(64 * WindowWords)
	if w.fresh(63) || !w.fresh(64) {
		t.Error("the window does not end where it should")
	}
	w.use(1<<64 - 1)
	if w.fresh(1<<64-1) || w.fresh(64*WindowWords) {
		t.Error("the end of all numbers is fresh again")
	}
}
