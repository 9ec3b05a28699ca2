package protocol

import (
	"fmt"
	"math"
	"time"
)

// Time is an instant of one member's lease clock, in nanoseconds. Clocks of different members have nothing to do with
// one another: only lengths of time are ever compared between members.
type Time int64

// Never is later than every instant that a clock shows. It absorbs: Never plus or minus a length of time is Never.
const Never Time = math.MaxInt64

// Add returns t+d, which is Never if t is Never or the sum is beyond what a Time can hold.
func (t Time) Add(d time.Duration) Time {
	if t == Never {
		return Never
	}
	s := t + Time(d)
	if d > 0 && s < t {
		return Never
	}
	if d < 0 && s > t {
		return math.MinInt64
	}
	return s
}

// Sub returns t-u, the length of time from u to t; a length that does not fit is cut to the longest that does.
func (t Time) Sub(u Time) time.Duration {
	d := time.Duration(t - u)
	switch {
	case t >= u && d < 0:
		return math.MaxInt64
	case t < u && d > 0:
		return math.MinInt64
	}
	return d
}

// String shows seconds of the clock, such as 12.0345s.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return fmt.Sprint(time.Duration(t))
}
