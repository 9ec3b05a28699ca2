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

// Draw draws how many pauses of each length there were, against what a lease survives. Bars are logarithmic: one pause that costs a lease
// must be seen beside a million that do not. A bucket that a rung cuts counts above it, so that no pause looks shorter than it was.
func Draw(w io.Writer, buckets []Bucket, survives time.Duration, width int) {
	ends := slices.Clone(rungs)
	if at, found := slices.BinarySearch(ends, survives); !found && survives > 0 {
		ends = slices.Insert(ends, at, survives)
	}
	counts := make([]uint64, len(ends))
	last := 0
	var most uint64
	for _, b := range buckets {
		at, _ := slices.BinarySearch(ends, b.Upper)
		counts[at] += b.Count
		most, last = max(most, counts[at]), max(last, at)
	}
	if i := slices.Index(ends, survives); i >= 0 {
		last = max(last, i)
	}
	from := time.Duration(0)
	for i, end := range ends[:last+1] {
		bar := ""
		if counts[i] > 0 {
			bar = strings.Repeat("█", 1+int(float64(width-1)*math.Log1p(float64(counts[i]-1))/max(1, math.Log1p(float64(most-1)))))
		}
		name := "up to " + Length(end)
		if end == math.MaxInt64 {
			name = "above " + Length(from)
		}
		costs := ""
		if survives > 0 && end > survives && counts[i] > 0 {
			costs = "  costs the lease"
		}
		fmt.Fprintf(w, "  %14s %9s %s%s\n", name, grouped(fmt.Sprint(counts[i])), bar, costs)
		if end == survives {
			fmt.Fprintf(w, "  %s the lease survives pauses of %s\n", strings.Repeat("─", 14), Length(survives))
		}
		from = end
	}
}
