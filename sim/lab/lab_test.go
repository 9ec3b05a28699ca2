package lab_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/regentproject/regent/sim/lab"
)

// TestProbabilityIsThatOfTheTable compares the closed form with numbers that were worked out by another program.
func TestProbabilityIsThatOfTheTable(t *testing.T) {
	for _, c := range []struct {
		n, x int
		want float64
	}{
		{5, 7, 0.964576}, {5, 8, 0.906205}, {5, 10, 0.710168}, {6, 9, 0.993933}, {6, 12, 0.902862}, {7, 10, 0.999890},
		{7, 11, 0.999272}, {7, 14, 0.977151}, {8, 12, 0.999993}, {8, 16, 0.996234}, {9, 18, 0.999565}, {10, 20, 0.999965},
	} {
		if got, _ := lab.Survives(c.n, c.x).Float64(); math.Abs(got-c.want) > 5e-7 {
			t.Errorf("p(%d) for %d members is %.6f, want %.6f", c.x, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		n, x   int
		lo, hi float64
	}{{5, 50, 1.05e-5, 1.15e-5}, {10, 100, 6.85e-4, 6.95e-4}, {9, 13, 0.9999999, 1}, {10, 15, 0.99999999, 1}} {
		if got, _ := lab.Survives(c.n, c.x).Float64(); got < c.lo || got > c.hi {
			t.Errorf("p(%d) for %d members is %g, want between %g and %g", c.x, c.n, got, c.lo, c.hi)
		}
	}
}

func TestProbabilityAtItsEnds(t *testing.T) {
	one := big.NewRat(1, 1)
	for n := 3; n < 8; n++ {
		for x := range n - 1 {
			if lab.Survives(n, x).Cmp(one) != 0 {
				t.Errorf("%d members, %d rounds: not all %d others can have been lost, but p is %v", n, x, n-1, lab.Survives(n, x))
			}
		}
		// In n-1 rounds all others are lost if the draws are a permutation.
		perms := big.NewRat(1, 1)
		for k := 1; k < n; k++ {
			perms.Mul(perms, big.NewRat(int64(k), int64(n-1)))
		}
		if got := lab.AllLost(n, n-1); got.Cmp(perms) != 0 {
			t.Errorf("%d members: all lost in %d rounds with %v, want %v", n, n-1, got, perms)
		}
	}
}

func TestLongestSessions(t *testing.T) {
	want := map[int][2]int{5: {6, 4}, 6: {9, 7}, 7: {13, 9}, 8: {17, 13}, 9: {21, 16}, 10: {26, 20}, 12: {35, 29}, 14: {46, 38}}
	for _, s := range lab.NewProbability().Sessions {
		if w, ok := want[s.Members]; ok && w != [2]int{s.P99, s.P9999} {
			t.Errorf("%d members: MP(1) survives %d rounds with 0.99 and %d with 0.9999, want %v", s.Members, s.P99, s.P9999, w)
		}
	}
}

// TestChanceOfTheRealMachine is T-PX: trials on the machine agree with the closed form.
func TestChanceOfTheRealMachine(t *testing.T) {
	r := lab.NewProbability()
	if err := r.Measure(60, 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		if math.Abs(c.Sigmas) > 3 {
			t.Errorf("T-PX: %d members, %d rounds: MP(1) survived in %.4f of %d trials, %.1f standard errors from %.4f",
				c.Members, c.Rounds, c.Measured, c.Trials, c.Sigmas, c.P)
		}
	}
	if err := r.Measure(0, 1, nil); err == nil {
		t.Error("no trials at all were taken for a measurement")
	}
}

func TestFiguresAreSVGAndNameTheirCurves(t *testing.T) {
	for _, f := range []struct {
		write func(io.Writer) error
		want  []string
	}{
		{lab.WriteSurvival, []string{"members n", "p(x)", "x = 3n/2", "x = 2n"}},
		{lab.WriteSessions, []string{"members n", "rounds x", "p = 0.99", "p = 0.9999"}},
	} {
		var a, b bytes.Buffer
		if err := f.write(&a); err != nil {
			t.Fatal(err)
		}
		if err := f.write(&b); err != nil || a.String() != b.String() {
			t.Errorf("the same figure came out differently, %v", err)
		}
		if err := xml.Unmarshal(a.Bytes(), new(struct{})); err != nil || !strings.Contains(a.String(), "<svg") {
			t.Errorf("not SVG: %v", err)
		}
		for _, want := range f.want {
			if !strings.Contains(a.String(), want) {
				t.Errorf("the figure does not say %q", want)
			}
		}
	}
}

// TestFailoverGrowsWithHistoryUnlessItLeaps is E-T1.
func TestFailoverGrowsWithHistoryUnlessItLeaps(t *testing.T) {
	rows, err := lab.MeasureFailover(1, 100, 1000, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range rows {
		t.Logf("after %5d rounds: plain %4d, leapfrog %d, with patience %d", f.History, f.Plain, f.Leap, f.Patient)
		if f.Leap > 12 || f.Patient > 12 {
			t.Errorf("E-T1: with leapfrog a leader of %d rounds is trusted for %d more, and for %d with patience; want a few, and about 8",
				f.History, f.Leap, f.Patient)
		}
		if i > 0 && f.Plain < 4*rows[i-1].Plain {
			t.Errorf("E-T1: a leader of %d rounds is trusted for %d more, one of %d for %d: the paper's protocol was expected to get worse",
				f.History, f.Plain, rows[i-1].History, rows[i-1].Plain)
		}
	}
}

func TestPatienceMakesMistakesRare(t *testing.T) {
	rows, err := lab.MeasureMistakes(500, 1)
	if err != nil {
		t.Fatal(err)
	}
	by := map[[3]int]float64{}
	for _, m := range rows {
		by[[3]int{m.Members, m.F, m.Patience}] = m.Changes
	}
	for _, c := range []struct {
		n, f, h int
		lo, hi  float64
	}{{5, 1, 4, 0, 0}, {5, 2, 1, 8, 100}, {5, 2, 4, 0, 2}, {5, 2, 6, 0, 0.5}, {7, 1, 2, 0, 0}, {7, 3, 1, 4, 100}} {
		if got := by[[3]int{c.n, c.f, c.h}]; got < c.lo || got > c.hi {
			t.Errorf("%d members, f = %d, h = %d: %.1f changes in 500 rounds, want between %g and %g", c.n, c.f, c.h, got, c.lo, c.hi)
		}
	}
}
