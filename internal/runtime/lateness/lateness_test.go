package lateness

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// The buckets have all that was added, each in one that does not end before it.
func TestBucketsHaveAllThatWasAdded(t *testing.T) {
	var h Histogram
	added := []time.Duration{0, 7, 900, time.Millisecond, 13 * time.Millisecond, time.Second, time.Minute}
	var sum time.Duration
	for _, d := range added {
		h.Add(0, d)
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

func TestQuantiles(t *testing.T) {
	var h Histogram
	for i := range 10_000 {
		h.Add(0, time.Duration(i)*time.Microsecond)
	}
	for _, share := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
		exact := time.Duration(share*9999) * time.Microsecond
		if got := h.Quantile(share); got < exact || float64(got) > float64(exact)*1.126+2000 {
			t.Errorf("quantile %v is %v: want %v", share, got, exact)
		}
	}
	if h.Longest() != 9999*time.Microsecond || h.Count() != 10_000 {
		t.Errorf("longest %v of %d", h.Longest(), h.Count())
	}
	for d := time.Duration(0); d < 1<<40; d = d*9/8 + 1 {
		b := bucketOf(d)
		if floorOf(b) > d || floorOf(b+1) <= d {
			t.Fatalf("%d lies in bucket %d, from %d to %d", d, b, floorOf(b), floorOf(b+1))
		}
	}
	h.Add(0, 1<<63-1)
}

// The longest pause of a day is found until a day has passed, and not for much longer.
func TestTheLongestPauseOfADay(t *testing.T) {
	var h Histogram
	at := protocol.Time(90 * time.Minute)
	if p := h.Day(at); p != (Peak{}) {
		t.Errorf("of nothing the longest is %v", p)
	}
	h.Add(at, 1560*time.Millisecond)
	for i := range 60 * 24 { // a short one each minute, some of them in its own hour
		h.Add(at.Add(time.Duration(i)*time.Minute), time.Millisecond)
	}
	want := Peak{Length: 1560 * time.Millisecond, At: at}
	for _, c := range []struct {
		after time.Duration
		want  Peak
	}{{0, want}, {time.Hour, want}, {23 * time.Hour, want}, {24 * time.Hour, want}} {
		if got := h.Day(at.Add(c.after)); got != c.want {
			t.Errorf("after %v the longest is %v, want %v", c.after, got, c.want)
		}
	}
	if got := h.Day(at.Add(25 * time.Hour)); got.Length != time.Millisecond {
		t.Errorf("after 25 hours the longest is %v", got)
	}
	h.Add(at.Add(25*time.Hour), 2*time.Millisecond) // it takes the place of the first
	if got := h.Day(at.Add(25 * time.Hour)); got.Length != 2*time.Millisecond || h.Longest() != want.Length {
		t.Errorf("then the longest is %v, and %v since the start", got, h.Longest())
	}
}
