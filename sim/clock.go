package sim

import (
	"math"
	"math/bits"
	"sort"

	"github.com/regentproject/regent/internal/protocol"
)

// ClockSpec is how a member's clock is when the run begins.
type ClockSpec struct {
	// Offset is what the clock shows at the beginning of the run.
	Offset protocol.Time
	// Rate is how much faster than real time the clock runs, in parts per billion: the same unit as protocol.Rho.
	Rate int64
}

// A Clock is a member's clock with its whole history: a piecewise linear map from real time to local time. The map is
// the ground truth that checkers judge by; members only see samples.
type Clock struct {
	segments []segment
	last     protocol.Time // the newest sample
	sampled  bool
}

// A segment is a stretch in which the clock runs at one rate, from the instant at on.
type segment struct {
	at    Real
	local protocol.Time
	rate  int64 // parts per billion on top of real time; stopped: -billion
	era   int   // grows when the clock is set anew: a reboot
}

const (
	billion = 1_000_000_000
	stopped = -billion
)

// NewClock returns a clock as described.
func NewClock(s ClockSpec) *Clock {
	return &Clock{segments: []segment{{local: s.Offset, rate: s.Rate}}}
}

// At returns what the clock shows at t.
func (c *Clock) At(t Real) protocol.Time {
	s := c.segment(t)
	return s.local + protocol.Time(mulDiv(uint64(t-s.at), uint64(billion+s.rate), billion, false))
}

// Sample reads the clock as a member does at t: what it shows, or one nanosecond more than the sample before, so that
// no two samples are alike. Readers are served in the order of time.
func (c *Clock) Sample(t Real) protocol.Time {
	now := c.At(t)
	if c.sampled && now <= c.last {
		now = c.last + 1
	}
	c.last, c.sampled = now, true
	return now
}

// Reach returns the first instant at which the clock that is in force at t shows at least l, Forever if it has stopped
// below. It may lie before t. A clock that was set anew later is taken to have run on as it did, so that the promises of
// a rebooted member end when they would have ended.
func (c *Clock) Reach(t Real, l protocol.Time) Real {
	if l == protocol.Never {
		return Forever
	}
	first := c.index(t)
	era := c.segments[first].era
	for first > 0 && c.segments[first-1].era == era && l <= c.segments[first].local {
		first--
	}
	for i := first; ; i++ {
		s := c.segments[i]
		if l <= s.local {
			return s.at
		}
		at := Forever
		if s.rate > stopped {
			if need := mulDiv(uint64(l-s.local), billion, uint64(billion+s.rate), true); need < math.MaxInt64-uint64(s.at) {
				at = s.at + Real(need)
			}
		}
		if i+1 == len(c.segments) || c.segments[i+1].era != era || at < c.segments[i+1].at {
			return at
		}
	}
}

// Rate returns how the clock runs at t, in parts per billion on top of real time; minus a billion if it stands still.
func (c *Clock) Rate(t Real) int64 { return c.segment(t).rate }

// Era returns how often the clock has been set anew before t.
func (c *Clock) Era(t Real) int { return c.segment(t).era }

// setRate lets the clock run at another rate from t on.
func (c *Clock) setRate(t Real, ppb int64) {
	c.add(segment{at: t, local: c.At(t), rate: ppb, era: c.segment(t).era})
}

// jump moves the clock forward by d at t.
func (c *Clock) jump(t Real, d protocol.Time) {
	s := c.segment(t)
	c.add(segment{at: t, local: c.At(t) + d, rate: s.rate, era: s.era})
}

// reset sets the clock anew at t, as a reboot does. Samples start over.
func (c *Clock) reset(t Real, to protocol.Time) {
	s := c.segment(t)
	c.add(segment{at: t, local: to, rate: s.rate, era: s.era + 1})
	c.sampled = false
}

func (c *Clock) add(s segment) {
	if last := len(c.segments) - 1; c.segments[last].at == s.at && c.segments[last].era == s.era {
		c.segments[last] = s
		return
	}
	c.segments = append(c.segments, s)
}

func (c *Clock) segment(t Real) segment { return c.segments[c.index(t)] }

// index finds the segment in force at t. Nearly always it is the last one.
func (c *Clock) index(t Real) int {
	last := len(c.segments) - 1
	if t >= c.segments[last].at {
		return last
	}
	return max(0, sort.Search(last, func(i int) bool { return c.segments[i].at > t })-1)
}

// mulDiv returns a·num/den, rounded as asked, and the largest Time where that does not fit.
func mulDiv(a, num, den uint64, up bool) uint64 {
	hi, lo := bits.Mul64(a, num)
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, den-1, 0)
		hi += carry
	}
	if hi >= den {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, den)
	return min(q, math.MaxInt64)
}
