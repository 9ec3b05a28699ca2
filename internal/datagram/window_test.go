package datagram

import (
	"slices"
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

// What is spent is what is not fresh: all of it if there is room for all runs, and never more.
func TestSpentNumbersAreNotFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		base := rapid.SampledFrom([]uint64{1, 60, 64*WindowWords - 1, 1<<32 - 30, 1<<64 - 4000}).Draw(t, "base")
		for range rapid.IntRange(1, 60).Draw(t, "numbers") {
			n := base + rapid.Uint64Range(0, 40).Draw(t, "on")
			if rapid.IntRange(0, 9).Draw(t, "jump") == 0 {
				base += rapid.Uint64Range(0, min(3000, 1<<64-1-base-40)).Draw(t, "by")
			}
			if w.fresh(n) {
				w.use(n)
			}
		}
		most := rapid.SampledFrom([]int{1, 2, 3, 3000}).Draw(t, "most")
		runs := w.spent(nil, most)
		if len(runs) > most || runs[0][0] != 0 || most > 1 && runs[len(runs)-1][1] != w.top {
			t.Fatalf("at most %d runs up to %d: %v", most, w.top, runs)
		}
		for n := w.top - min(w.top, 64*WindowWords+70); ; n++ {
			spent := slices.ContainsFunc(runs, func(r [2]uint64) bool { return r[0] <= n && n <= r[1] })
			if spent && w.fresh(n) || most == 3000 && !spent && !w.fresh(n) {
				t.Fatalf("%d is spent: %v, fresh: %v, up to %d: %v", n, spent, w.fresh(n), w.top, runs)
			}
			if n == 1<<64-1 || n == w.top+3 {
				break
			}
		}
	})
}

// Spent runs during a flood, on the thread that holds leases: it makes no garbage, and looks at the latest runs first.
func TestSpentMakesNoGarbage(t *testing.T) {
	var w window
	for n := uint64(2); n < 64*WindowWords; n += 2 {
		w.use(n)
	}
	runs := make([][2]uint64, 0, 4)
	if n := testing.AllocsPerRun(10, func() { runs = w.spent(runs, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := [][2]uint64{{0, 0}, {w.top - 4, w.top - 4}, {w.top - 2, w.top - 2}, {w.top, w.top}}; !slices.Equal(runs, want) {
		t.Errorf("runs %v, want %v", runs, want)
	}
}
