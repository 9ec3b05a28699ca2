package plan

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The upper limits of a Poisson mean at 95 %, as tables have them.
func TestBoundsAreThoseOfTables(t *testing.T) {
	for seen, want := range map[uint64]float64{0: 2.996, 1: 4.744, 2: 6.296, 3: 7.754, 10: 16.962, 50: 63.287, 100: 118.08} {
		if got := mostLikely(seen); math.Abs(got-want) > want/1000 {
			t.Errorf("%d seen: at most %.3f, want %.3f", seen, got, want)
		}
	}
}

// No bound is below the rate that the time can show, and none below what was seen.
func TestNoBoundIsBelowWhatTheTimeCanShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := rapid.Uint64Range(0, 1e6).Draw(t, "seen")
		within := time.Duration(rapid.Int64Range(1, int64(100*24*time.Hour)).Draw(t, "within"))
		b := newBound(time.Millisecond, seen, within)
		days := within.Hours() / 24
		if b.PerDay*days < 2.99 || b.PerDay*days < float64(seen) {
			t.Fatalf("%d in %v: %v a day", seen, within, b.PerDay)
		}
		if more := newBound(time.Millisecond, seen+1, within); more.PerDay <= b.PerDay {
			t.Fatalf("%d in %v: %v a day; one more: %v", seen, within, b.PerDay, more.PerDay)
		}
	})
}

// Every count has a larger bound than the one before, also where terms of the distribution are too small for a number.
func TestBoundsGrowWithWhatWasSeen(t *testing.T) {
	last := 0.0
	for seen := range uint64(1100) {
		got := mostLikely(seen)
		if got <= last || got > last+2.5 && seen > 0 {
			t.Errorf("%d seen: at most %v, and %v for one less", seen, got, last)
		}
		last = got
	}
	if got := mostLikely(700); math.Abs(got-745.11) > 0.01 {
		t.Errorf("700 seen: at most %v, want 745.11", got)
	}
}

func TestBoundsInWords(t *testing.T) {
	for _, c := range []struct {
		b    Bound
		want string
	}{
		{newBound(150*ms, 0, time.Minute), "no pause above 150 ms in 60 s: fewer than 4,320 a day at 95 %; measure longer"},
		{newBound(20*ms, 3, time.Minute), "3 pauses above 20 ms in 60 s: at most 11,200 a day at 95 %"},
		{newBound(20*ms, 1, 24*time.Hour), "1 pause above 20 ms in 24 h: at most 4.75 a day at 95 %"},
		{newBound(time.Second, 0, 72*time.Hour), "no pause above 1 s in 72 h: fewer than 0.999 a day at 95 %"},
		{newBound(time.Second, 0, 0), "nothing was measured"},
	} {
		if got := c.b.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestLengthsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 7: "7 ns", 1500: "1.50 µs", 1560 * ms: "1.56 s", 54 * ms: "54 ms", 12345 * time.Microsecond: "12.3 ms",
		123456 * time.Microsecond: "123 ms", 60 * time.Second: "60 s", 5 * time.Minute: "5 min", 72 * time.Hour: "72 h", 9999 * time.Microsecond: "10.0 ms"} {
		if got := Length(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

// A pause in the bucket of the limit counts as above it, and the step of the measurement is added.
func TestPausesAreCountedAboveALimitRatherThanBelow(t *testing.T) {
	p := Pauses{For: time.Minute, Step: ms, Longest: 12 * ms, Buckets: []Bucket{{Upper: ms, Count: 100}, {Upper: 9 * ms, Count: 2}, {Upper: 13 * ms, Count: 1}}}
	for d, want := range map[time.Duration]uint64{0: 103, 3 * ms: 3, 9*ms + ms - 1: 3, 10 * ms: 1, 12 * ms: 1, 13 * ms: 0} {
		if got := p.above(d); got != want {
			t.Errorf("%d above %v, want %d", got, d, want)
		}
	}
	if got := p.Quantile(0.99); got != 9*ms {
		t.Errorf("99 %% are below %v", got)
	}
}

func TestTheDrawingShowsWhatCostsALease(t *testing.T) {
	var b strings.Builder
	Draw(&b, []Bucket{{Upper: 90 * time.Microsecond, Count: 1_000_000}, {Upper: 2 * ms, Count: 40}, {Upper: 160 * ms, Count: 1}}, 150*ms, 20)
	want := `    up to 100 µs 1,000,000 ████████████████████
    up to 300 µs         0 
      up to 1 ms         0 
      up to 3 ms        40 ███████
     up to 10 ms         0 
     up to 30 ms         0 
    up to 100 ms         0 
    up to 150 ms         0 
  ────────────── the lease survives pauses of 150 ms
    up to 300 ms         1 ██  costs the lease
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
