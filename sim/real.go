package sim

import (
	"fmt"
	"math"
	"time"
)

// Real is an instant of the simulated world's own time, in nanoseconds since the run began. Members never see it: they
// see their clocks.
type Real int64

// Forever is an instant that does not come.
const Forever Real = math.MaxInt64

// Add returns t+d, and Forever where that does not fit.
func (t Real) Add(d time.Duration) Real {
	s := t + Real(d)
	if t == Forever || d > 0 && s < t {
		return Forever
	}
	return s
}

// Sub returns the length of time from u to t.
func (t Real) Sub(u Real) time.Duration { return time.Duration(t - u) }

// String shows the time since the run began, such as 1.5s.
func (t Real) String() string {
	if t == Forever {
		return "forever"
	}
	return time.Duration(t).String()
}

// Odds is a probability in parts per million, so that it is drawn, written and halved without rounding.
type Odds int64

// Certain is the probability of what always happens.
const Certain Odds = 1_000_000

// Percent returns odds of p in a hundred.
func Percent(p int64) Odds { return Odds(p * 10_000) }

// String shows the odds in percent, such as 2.5%.
func (o Odds) String() string { return fmt.Sprintf("%g%%", float64(o)/10_000) }

// Delay is a distribution of lengths of time: evenly between Min and Max, and with the odds of Tail a length on top
// that is geometric in steps of TailStep.
type Delay struct {
	Min, Max time.Duration
	Tail     Odds
	TailStep time.Duration
}

// Between returns the even distribution from lo to hi.
func Between(lo, hi time.Duration) Delay { return Delay{Min: lo, Max: hi} }

// String shows 1ms..5ms, and the tail if there is one.
func (d Delay) String() string {
	s := fmt.Sprintf("%v..%v", d.Min, max(d.Min, d.Max))
	if d.Tail > 0 {
		s += fmt.Sprintf(" tail %v of %v", d.Tail, d.TailStep)
	}
	return s
}
