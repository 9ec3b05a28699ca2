package plan

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// rungs are the upper ends of the rows of a drawing.
var rungs = []time.Duration{100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond,
	100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, math.MaxInt64}

// A Rung is a row of a drawing: how many pauses were at most Upper, and longer than the rung before.
type Rung struct {
	Upper time.Duration // the last rung has no end: MaxInt64
	Count uint64
	// Costs says that pauses of this rung cost the lease.
	Costs bool
}

// Rungs sorts pauses into rows, of which one ends at what the lease survives. A bucket that a rung cuts counts above it, so that no pause looks shorter
// than it was. Rows beyond the longest pause are left out, but not those that the lease survives.
func Rungs(buckets []Bucket, survives time.Duration) []Rung {
	ends := slices.Clone(rungs)
	at, found := slices.BinarySearch(ends, survives)
	if !found && survives > 0 {
		ends = slices.Insert(ends, at, survives)
	}
	out := make([]Rung, len(ends))
	last := 0
	for i, end := range ends {
		out[i] = Rung{Upper: end, Costs: survives > 0 && end > survives}
		if end == survives {
			last = i
		}
	}
	for _, b := range buckets {
		i, _ := slices.BinarySearch(ends, b.Upper)
		out[i].Count += b.Count
		last = max(last, i)
	}
	return out[:last+1]
}

// Share returns how long the bar of a rung is, as a share of the longest one. Bars are logarithmic: one pause that costs a lease must be seen
// beside a million that do not.
func Share(count, most uint64) float64 {
	if count == 0 {
		return 0
	}
	return (1 + math.Log(float64(count))) / (1 + math.Log(float64(max(count, most))))
}

// Draw draws how many pauses of each length there were, against what a lease survives.
func Draw(w io.Writer, buckets []Bucket, survives time.Duration, width int) {
	all := Rungs(buckets, survives)
	var most uint64
	for _, r := range all {
		most = max(most, r.Count)
	}
	from := time.Duration(0)
	for _, r := range all {
		name := "up to " + Length(r.Upper)
		if r.Upper == math.MaxInt64 {
			name = "above " + Length(from)
		}
		costs := ""
		if r.Costs && r.Count > 0 {
			costs = "  costs the lease"
		}
		bar := strings.Repeat("█", int(math.Ceil(Share(r.Count, most)*float64(width))))
		fmt.Fprintf(w, "  %14s %9s %s%s\n", name, grouped(fmt.Sprint(r.Count)), bar, costs)
		if r.Upper == survives {
			fmt.Fprintf(w, "  %s the lease survives pauses of %s\n", strings.Repeat("─", 14), Length(survives))
		}
		from = r.Upper
	}
}
