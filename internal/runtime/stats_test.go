package runtime

import (
	"testing"
	"time"
)

// The buckets have all that was added, each in one that does not end before it.
func TestBucketsOfLatenessHaveAllThatWasAdded(t *testing.T) {
	var h Lateness
	added := []time.Duration{0, 7, 900, time.Millisecond, 13 * time.Millisecond, time.Second, time.Minute}
	var sum time.Duration
	for _, d := range added {
		h.add(d)
		sum += d
	}
	if h.Sum() != sum {
		t.Errorf("the sum is %v, want %v", h.Sum(), sum)
	}
	h.Buckets(func(longest time.Duration, n uint64) {
		for ; n > 0; n-- {
			if d := added[0]; d > longest || longest > d+d/4+1 {
				t.Errorf("%v is counted as at most %v", d, longest)
			}
			added = added[1:]
		}
	})
	if len(added) != 0 {
		t.Errorf("%v are in no bucket", added)
	}
}
