package protocol_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

const billion = 1_000_000_000

func rhos() *rapid.Generator[protocol.Rho] {
	return rapid.OneOf(
		rapid.SampledFrom([]protocol.Rho{0, 1, protocol.DefaultRho, billion / 3, billion/2 - 1}),
		rapid.Map(rapid.Int64Range(0, billion/2-1), func(r int64) protocol.Rho { return protocol.Rho(r) }),
	)
}

func lengths() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, 1, 2, 999, time.Second - 1, time.Second, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64}),
		rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(d int64) time.Duration { return time.Duration(d) }),
	)
}

// ratio returns d·num/den exactly.
func ratio(d time.Duration, num, den int64) *big.Rat {
	r := new(big.Rat).SetFrac64(num, den)
	return r.Mul(r, new(big.Rat).SetInt64(int64(d)))
}

// rounded rounds x up or down, and cuts it to the longest duration.
func rounded(x *big.Rat, up bool) time.Duration {
	q, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if up && m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(q.Int64())
}

func TestDriftHelpersAreExactAndRoundTowardsSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d := rhos().Draw(t, "rho"), lengths().Draw(t, "d")
		slow, fast := int64(billion-r), int64(billion+r)
		for _, c := range []struct {
			name string
			got  time.Duration
			want *big.Rat
			up   bool
		}{
			{"WaitAtLeast", r.WaitAtLeast(d), ratio(d, fast, billion), true},
			{"WaitAtMost", r.WaitAtMost(d), ratio(d, slow, billion), false},
			{"RealAtMost", r.RealAtMost(d), ratio(d, billion, slow), true},
			{"RealAtLeast", r.RealAtLeast(d), ratio(d, billion, fast), false},
		} {
			if want := rounded(c.want, c.up); c.got != want {
				t.Fatalf("rho %v: %s(%v) = %v, want %v", r, c.name, d, c.got, want)
			}
		}
	})
}

// This is what every lease rests on: the holder counts WaitAtMost(d), the grantor WaitAtLeast(d), from the same instant
// or later, on any two clocks within ρ, and the holder is done first.
func TestHolderNeverOutlastsGrantor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rhos().Draw(t, "rho")
		d := min(lengths().Draw(t, "d"), math.MaxInt64/2)
		// Rates of the two clocks, anywhere in [1-ρ, 1+ρ] and often at its ends, in parts per billion.
		rates := rapid.OneOf(
			rapid.SampledFrom([]int64{int64(billion - r), billion, int64(billion + r)}),
			rapid.Int64Range(int64(billion-r), int64(billion+r)))
		holder, grantor := rates.Draw(t, "holder"), rates.Draw(t, "grantor")
		h := ratio(r.WaitAtMost(d), billion, holder)
		g := ratio(r.WaitAtLeast(d), billion, grantor)
		if h.Cmp(g) > 0 {
			t.Fatalf("rho %v, d %v: the holder's clock at rate %d ends after %v of real time, the grantor's at rate %d after %v",
				r, d, holder, h.FloatString(9), grantor, g.FloatString(9))
		}
	})
}

func TestDriftHelpersUndoOneAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rhos().Draw(t, "rho")
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "d"))
		if got := r.RealAtMost(r.WaitAtMost(d)); got > d {
			t.Fatalf("rho %v: a wait of at most %v may last %v", r, d, got)
		}
		if got := r.RealAtLeast(r.WaitAtLeast(d)); got < d {
			t.Fatalf("rho %v: a wait of at least %v may last only %v", r, d, got)
		}
		if got := r.WaitAtLeast(r.RealAtMost(d)); got < d {
			t.Fatalf("rho %v: a local length of %v shrinks to %v by way of real time", r, d, got)
		}
	})
}

func TestDriftHelpersNeverShrinkAsTheirArgumentGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, e := rhos().Draw(t, "rho"), lengths().Draw(t, "d"), lengths().Draw(t, "e")
		d, e = min(d, e), max(d, e)
		if r.WaitAtLeast(d) > r.WaitAtLeast(e) || r.WaitAtMost(d) > r.WaitAtMost(e) ||
			r.RealAtMost(d) > r.RealAtMost(e) || r.RealAtLeast(d) > r.RealAtLeast(e) {
			t.Fatalf("rho %v: %v gives more than %v", r, d, e)
		}
	})
}

func TestDriftHelpersByExample(t *testing.T) {
	r := protocol.DefaultRho
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{
		{"WaitAtLeast", r.WaitAtLeast(time.Second), 1001 * time.Millisecond},
		{"WaitAtMost", r.WaitAtMost(time.Second), 999 * time.Millisecond},
		{"RealAtMost", r.RealAtMost(time.Second), 1001001002}, // 1.001001001001…s, rounded up
		{"RealAtLeast", r.RealAtLeast(time.Second), 999000999},
		{"WaitAtLeast of a nanosecond", r.WaitAtLeast(1), 2},
		{"WaitAtMost of a nanosecond", r.WaitAtMost(1), 0},
		{"WaitAtLeast beyond what fits", r.WaitAtLeast(math.MaxInt64), math.MaxInt64},
		{"RealAtMost beyond what fits", r.RealAtMost(math.MaxInt64), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestPerfectClockNeedsNoCorrection(t *testing.T) {
	var r protocol.Rho
	for _, d := range []time.Duration{0, 1, time.Hour, math.MaxInt64} {
		if r.WaitAtLeast(d) != d || r.WaitAtMost(d) != d || r.RealAtMost(d) != d || r.RealAtLeast(d) != d {
			t.Errorf("rho 0 changed %v", d)
		}
	}
}

func TestNegativeLengthIsABrokenInvariant(t *testing.T) {
	r := protocol.DefaultRho
	for name, f := range map[string]func(time.Duration) time.Duration{
		"WaitAtLeast": r.WaitAtLeast, "WaitAtMost": r.WaitAtMost, "RealAtMost": r.RealAtMost, "RealAtLeast": r.RealAtLeast,
	} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.Contains(p, "-5ns") {
					t.Errorf("%s: panic %q does not name the length", name, p)
				}
			}()
			f(-5)
		}()
	}
}

func TestRhoCheck(t *testing.T) {
	for r, ok := range map[protocol.Rho]bool{
		0: true, 1: true, protocol.DefaultRho: true, billion/2 - 1: true,
		-1: false, billion / 2: false, billion: false, math.MaxInt64: false, math.MinInt64: false,
	} {
		if err := r.Check(); (err == nil) != ok {
			t.Errorf("rho %d: %v", int64(r), err)
		}
	}
	if got := protocol.DefaultRho.String(); got != "0.001" {
		t.Errorf("DefaultRho shows as %q", got)
	}
}
