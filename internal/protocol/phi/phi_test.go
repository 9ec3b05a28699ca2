package phi_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol/phi"
)

func TestMeanAndDeviationAreThoseOfTheLastSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, scale := range []float64{1e4, 1e6, 1e9, 9e9} {
		var e phi.Estimator
		var all []float64
		for i := range 1000 {
			d := time.Duration(math.Abs(r.NormFloat64()*scale/10 + scale))
			e.Add(d)
			all = append(all, float64(min(d, 10*time.Second)))
			window := all[max(0, i-127):]
			mean, square := 0.0, 0.0
			for _, x := range window {
				mean += x / float64(len(window))
			}
			for _, x := range window {
				square += (x - mean) * (x - mean) / float64(len(window))
			}
			if got := float64(e.Mean()); math.Abs(got-mean) > 1000 {
				t.Fatalf("after %d: mean %v, want %v", i+1, got, mean)
			}
			if got := float64(e.Deviation()); math.Abs(got-math.Sqrt(square)) > 2000+math.Sqrt(square)*1e-3 {
				t.Fatalf("after %d: deviation %v, want %v", i+1, got, math.Sqrt(square))
			}
		}
	}
}

// TestPatienceIsExceededAsOftenAsItsThresholdSays: with φ = 2 one in a hundred.
func TestPatienceIsExceededAsOftenAsItsThresholdSays(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for at, want := range map[phi.Threshold]float64{1: 0.1, 2: 0.01, 3: 0.001} {
		var e phi.Estimator
		draw := func() time.Duration {
			return time.Duration(50e6 + r.NormFloat64()*5e6)
		}
		for range 128 {
			e.Add(draw())
		}
		over := 0
		const tries = 400_000
		for range tries {
			d := draw()
			if d > e.Patience(at, 0) {
				over++
			}
			e.Add(d)
		}
		if got := float64(over) / tries; got < want*0.8 || got > want*1.5 {
			t.Errorf("φ = %d was exceeded by %v, want about %v", at, got, want)
		}
	}
}

func TestARegularPeerIsGivenTheFloor(t *testing.T) {
	var e phi.Estimator
	if e.Mean() != 0 || e.Deviation() != 0 || e.Len() != 0 {
		t.Error("an empty estimator knows something")
	}
	for range 200 {
		e.Add(50 * time.Millisecond)
	}
	if got := e.Patience(8, 10*time.Millisecond); got != 50*time.Millisecond+56120*time.Microsecond {
		t.Errorf("a peer that is heard every 50ms may be silent for %v", got)
	}
	if e.Patience(200, time.Second) != e.Patience(phi.Max, time.Second) {
		t.Error("thresholds beyond the highest are not the highest")
	}
}

func TestNothingOverflows(t *testing.T) {
	var e phi.Estimator
	for i := range 300 {
		e.Add(time.Duration(i%2) * 1000 * time.Hour)
	}
	if e.Mean() != 5*time.Second || e.Deviation() != 5*time.Second {
		t.Errorf("mean %v, deviation %v, want 5s each", e.Mean(), e.Deviation())
	}
	e.Add(-1)
	if e.Mean() > 5*time.Second {
		t.Error("a negative length counts")
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	var e phi.Estimator
	if n := testing.AllocsPerRun(1000, func() { e.Add(time.Second); e.Patience(8, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
