// Package phi is an accrual failure detector: it does not report that a peer is dead, but how certain that is, given how
// regularly messages of the peer arrived so far (φ-accrual; PROTOCOLS §1.8). It has no configurator: where a detection time
// is promised, use a time-out.
//
// φ is the number of nines: at φ = 8 a live peer would be as silent as this once in 10⁸ times, if the lengths of time between
// its messages are normally distributed. Here it is used backwards, and in integers: Patience is the silence at which φ
// reaches a threshold, a number of standard deviations beyond the mean.
package phi

import (
	"math/bits"
	"time"
)

// A Threshold is how sure to be before a peer is suspected.
type Threshold uint8

type (
	thousandths  int64
	microseconds int64
)

// one is a whole, in thousandths.
const one = 1000

// deviations is how many standard deviations beyond the mean each φ is, in thousandths: the point that a normally
// distributed quantity exceeds with a probability of 10^-φ.
var deviations = [...]thousandths{0, 1282, 2326, 3090, 3719, 4265, 4753, 5199, 5612, 5998, 6361, 6706, 7034}

// Max is the highest threshold.
const Max Threshold = Threshold(len(deviations) - 1)

// size is how many lengths of time are remembered.
const size = 128

// longest is the longest length of time that is believed. It keeps all sums below within 64 bits.
const longest = 10 * time.Second

// An Estimator knows how regularly one peer is heard, to the microsecond. The zero value has heard nothing.
type Estimator struct {
	samples      [size]microseconds
	n, next      int
	sum, squares microseconds // squares is the sum of theirs
}

// Add takes the length of time between two messages. Longer ones than ten seconds count as ten seconds.
func (e *Estimator) Add(d time.Duration) {
	x := microseconds(max(0, min(d, longest)).Microseconds())
	if e.n == size {
		old := e.samples[e.next]
		e.sum -= old
		e.squares -= old * old
	} else {
		e.n++
	}
	e.samples[e.next] = x
	e.next = (e.next + 1) % size
	e.sum += x
	e.squares += x * x
}

// Len returns how many lengths of time are remembered.
func (e *Estimator) Len() int { return e.n }

// Mean returns their mean, zero if there are none.
func (e *Estimator) Mean() time.Duration {
	if e.n == 0 {
		return 0
	}
	return time.Duration(e.sum) * time.Microsecond / time.Duration(e.n)
}

// Deviation returns their standard deviation, zero if there are none.
func (e *Estimator) Deviation() time.Duration {
	if e.n == 0 {
		return 0
	}
	n := microseconds(e.n)
	return time.Duration(root(uint64(n*e.squares-e.sum*e.sum))) * time.Microsecond / time.Duration(n)
}

// Patience returns how long the peer may be silent before φ exceeds the threshold. The deviation counts as at least floor,
// so that a peer that was perfectly regular is not suspected for nothing.
func (e *Estimator) Patience(at Threshold, floor time.Duration) time.Duration {
	sd := max(e.Deviation(), floor)
	return e.Mean() + sd/one*time.Duration(deviations[min(at, Max)])
}

// root returns the integer square root.
func root(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(x) + 1) / 2)
	for {
		next := (r + x/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}
