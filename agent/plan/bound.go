package plan

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// confidence is that of all bounds.
const confidence = 0.95

// A Bound says how often pauses of more than a length come at most.
type Bound struct {
	Thread Thread        `json:"thread,omitempty"`
	Above  time.Duration `json:"above_ns"`
	// Seen is how many came in the time For.
	Seen uint64        `json:"seen"`
	For  time.Duration `json:"for_ns"`
	// PerDay is the bound, at a confidence of 95 %.
	// Invariant: it is never below the rate that For can show, three in For.
	PerDay float64 `json:"per_day"`
}

// newBound returns the bound for a number of events that were seen within a time.
func newBound(above time.Duration, seen uint64, within time.Duration) Bound {
	b := Bound{Above: above, Seen: seen, For: within, PerDay: math.Inf(1)}
	if within > 0 {
		b.PerDay = mostLikely(seen) * float64(24*time.Hour) / float64(within)
	}
	return b
}

// mostLikely returns the mean above which so few events as were seen are less likely than 1 - confidence: for none it is 3.0, the rule of three.
func mostLikely(seen uint64) float64 {
	low, high := float64(seen), float64(seen)+10+10*math.Sqrt(float64(seen))
	for range 100 {
		mid := (low + high) / 2
		if atMost(seen, mid) > 1-confidence {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// atMost returns how likely at most k events are if their mean is given. Beyond exact many, the normal distribution is close enough.
func atMost(k uint64, mean float64) float64 {
	const exact = 1000
	if k > exact {
		z := (float64(k) + 0.5 - mean) / math.Sqrt(mean)
		return 0.5 * math.Erfc(-z/math.Sqrt2)
	}
	// From the largest term down: the first one, exp(-mean), is no number of full precision above a mean of 708.
	logFactorial, _ := math.Lgamma(float64(k) + 1)
	term := math.Exp(float64(k)*math.Log(mean) - mean - logFactorial)
	sum := term
	for i := k; i > 0; i-- {
		term *= float64(i) / mean
		sum += term
	}
	return sum
}

// String says it in words.
func (b Bound) String() string {
	if b.Thread != "" {
		named := string(b.Thread) + ": "
		b.Thread = ""
		return named + b.String()
	}
	if b.For <= 0 {
		return "nothing was measured"
	}
	many := Digits(b.PerDay)
	switch {
	case b.Seen > 0:
		return fmt.Sprintf("%s above %s in %s: at most %s a day at 95 %%", count(b.Seen, "pause"), Length(b.Above), Length(b.For), many)
	case b.PerDay > 1:
		return fmt.Sprintf("no pause above %s in %s: fewer than %s a day at 95 %%; measure longer", Length(b.Above), Length(b.For), many)
	}
	return fmt.Sprintf("no pause above %s in %s: fewer than %s a day at 95 %%", Length(b.Above), Length(b.For), many)
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", grouped(fmt.Sprint(n)), what)
}

// Digits shows a number with three significant digits, rounded up: a bound stays one.
func Digits(x float64) string {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Sprint(x)
	}
	step := math.Pow(10, math.Floor(math.Log10(x))-2)
	up := math.Ceil(x/step-1e-9) * step
	if step >= 1 {
		return grouped(fmt.Sprintf("%.0f", up))
	}
	return fmt.Sprintf("%.*f", int(math.Round(-math.Log10(step))), up)
}

// grouped puts commas into a whole number.
func grouped(digits string) string {
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Length shows a length of time with three significant digits.
func Length(d time.Duration) string {
	unit, name := float64(time.Second), "s"
	switch a := max(d, -d); {
	case a < time.Microsecond && a > 0:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case a < time.Millisecond && a > 0:
		unit, name = float64(time.Microsecond), "µs"
	case a < time.Second && a > 0:
		unit, name = float64(time.Millisecond), "ms"
	case a >= 2*time.Hour:
		unit, name = float64(time.Hour), "h"
	case a >= 2*time.Minute:
		unit, name = float64(time.Minute), "min"
	}
	x := float64(d) / unit
	switch a := math.Abs(x); {
	case a >= 99.95 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f %s", x, name)
	case a >= 9.995:
		return fmt.Sprintf("%.1f %s", x, name)
	}
	return fmt.Sprintf("%.2f %s", x, name)
}
