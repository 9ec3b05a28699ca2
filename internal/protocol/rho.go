package protocol

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Rho bounds how far the rate of a lease clock may lie from real time, in parts per billion: over x of real time a
// clock advances by at least (1-ρ)x and at most (1+ρ)x. Its four methods are all the drift arithmetic there is; each
// rounds towards safety, and their argument is never negative.
type Rho int64

// DefaultRho is 1e-3: raw hardware counters are good to about 1e-4, the rest pays for the kernel's calibration.
const DefaultRho Rho = 1_000_000

const billion = 1_000_000_000

// WaitAtLeast returns the local wait that lasts at least real: (1+ρ)·real.
func (r Rho) WaitAtLeast(real time.Duration) time.Duration {
	return scale(real, billion+uint64(r), billion, true)
}

// WaitAtMost returns the local wait that lasts at most real: (1-ρ)·real.
func (r Rho) WaitAtMost(real time.Duration) time.Duration {
	return scale(real, billion-uint64(r), billion, false)
}

// RealAtMost returns the longest real time that a local length can stand for: local/(1-ρ).
func (r Rho) RealAtMost(local time.Duration) time.Duration {
	return scale(local, billion, billion-uint64(r), true)
}

// RealAtLeast returns the shortest real time that a local length can stand for: local/(1+ρ).
func (r Rho) RealAtLeast(local time.Duration) time.Duration {
	return scale(local, billion, billion+uint64(r), false)
}

// Check says whether r can bound a clock: at least 0 and below 1/2.
func (r Rho) Check() error {
	if r < 0 || r >= billion/2 {
		return fmt.Errorf("rho %v: must be at least 0 and below 0.5", r)
	}
	return nil
}

// Fraction returns r as a fraction, such as 0.001.
func (r Rho) Fraction() float64 { return float64(r) / billion }

// String shows ρ as a fraction, such as 0.001.
func (r Rho) String() string { return fmt.Sprint(r.Fraction()) }

// scale returns d·num/den, rounded up or down, and the longest duration there is where the result does not fit.
func scale(d time.Duration, num, den uint64, up bool) time.Duration {
	if d < 0 {
		panic(fmt.Sprintf("protocol: drift arithmetic on a negative length %v", d))
	}
	hi, lo := bits.Mul64(uint64(d), num)
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, den-1, 0)
		hi += carry
	}
	if hi >= den {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, den)
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(q)
}
