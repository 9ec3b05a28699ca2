package sim

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// Dice is a stream of random draws in integers only, so that a seed gives the same world on every machine. Every member
// and every link has its own, so that a fault taken out of a schedule changes as little of the rest as possible.
type Dice struct{ pcg rand.PCG }

// NewDice returns the stream with the given name of a seed; streams of different names have nothing in common.
func NewDice(seed, name uint64) *Dice {
	d := newDice(seed, name)
	return &d
}

func newDice(seed, name uint64) Dice {
	var d Dice
	d.pcg.Seed(seed, name*0x9e3779b97f4a7c15+1)
	return d
}

// Uint64 draws 64 bits.
func (d *Dice) Uint64() uint64 { return d.pcg.Uint64() }

// N draws evenly from 0 to n-1; n of zero gives zero.
func (d *Dice) N(n int) int {
	hi, _ := bits.Mul64(d.pcg.Uint64(), uint64(n))
	return int(hi)
}

// Hit draws whether something with the given odds happens. It draws in any case, so that two runs that differ in the
// odds of one thing stay alike in all others.
func (d *Dice) Hit(o Odds) bool { return Odds(d.N(int(Certain))) < o }

// Between draws evenly from lo to hi, both included.
func (d *Dice) Between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(d.N(int(hi-lo)+1))
}

// Draw draws a length of time.
func (d *Dice) Draw(from Delay) time.Duration {
	t := d.Between(from.Min, from.Max)
	if from.Tail > 0 && d.Hit(from.Tail) {
		steps := 1 + bits.TrailingZeros64(d.Uint64()|1<<16)
		t += d.Between(1, from.TailStep) + from.TailStep*time.Duration(steps-1)
	}
	return t
}
