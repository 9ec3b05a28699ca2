package lab

import (
	"math"
	"math/big"
	"testing"
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
		if got, _ := survives(c.n, c.x).Float64(); math.Abs(got-c.want) > 5e-7 {
			t.Errorf("p(%d) for %d members is %.6f, want %.6f", c.x, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		n, x   int
		lo, hi float64
	}{{5, 50, 1.05e-5, 1.15e-5}, {10, 100, 6.85e-4, 6.95e-4}, {9, 13, 0.9999999, 1}, {10, 15, 0.99999999, 1}} {
		if got, _ := survives(c.n, c.x).Float64(); got < c.lo || got > c.hi {
			t.Errorf("p(%d) for %d members is %g, want between %g and %g", c.x, c.n, got, c.lo, c.hi)
		}
	}
}

func TestProbabilityAtItsEnds(t *testing.T) {
	one := big.NewRat(1, 1)
	for n := 3; n < 8; n++ {
		for x := range n - 1 {
			if survives(n, x).Cmp(one) != 0 {
				t.Errorf("%d members, %d rounds: not all %d others can have been lost, but p is %v", n, x, n-1, survives(n, x))
			}
		}
		// In n-1 rounds all others are lost if the draws are a permutation.
		perms := big.NewRat(1, 1)
		for k := 1; k < n; k++ {
			perms.Mul(perms, big.NewRat(int64(k), int64(n-1)))
		}
		if got := allLost(n, n-1); got.Cmp(perms) != 0 {
			t.Errorf("%d members: all lost in %d rounds with %v, want %v", n, n-1, got, perms)
		}
	}
}

func TestLongestSessions(t *testing.T) {
	for n, want := range map[int][2]int{5: {6, 4}, 6: {9, 7}, 7: {13, 9}, 8: {17, 13}, 9: {21, 16}, 10: {26, 20}, 12: {35, 29}, 14: {46, 38}} {
		if got := [2]int{longest(n, big.NewRat(99, 100)), longest(n, big.NewRat(9999, 10000))}; got != want {
			t.Errorf("%d members: MP(1) survives so many rounds with 0.99 and 0.9999: %v, want %v", n, got, want)
		}
	}
}

func TestTailOfABinomialDistribution(t *testing.T) {
	for _, c := range []struct {
		trials, held int
		p, want      float64
	}{{4, 0, 0.5, 1.0 / 16}, {4, 1, 0.5, 5.0 / 16}, {4, 4, 0.5, 1.0 / 16}, {4, 3, 0.5, 5.0 / 16}, {60, 59, 0.999272, 0.0428}, {10, 10, 1, 1}, {10, 9, 1, 0}} {
		if got := tail(c.trials, c.held, c.p); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%d of %d with %g: %g, want %g", c.held, c.trials, c.p, got, c.want)
		}
	}
}
