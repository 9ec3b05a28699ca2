// Package lateness counts by how much a thread woke up too late, which are its pauses: a histogram of all of them, and the longest of each
// hour of the last day.
//
// The loop of a member adds its own, `regent plan` those of the threads that it watches.
package lateness

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// parts is how many buckets span a power of two, and partBits its logarithm.
	parts    = 1 << partBits
	partBits = 3
	// bucketCount is enough for every length of 63 bits.
	bucketCount = 512
)

// A Histogram counts lengths of time. Each bucket spans an eighth of a power of two, so that a quantile is
// within 12.5 % of the truth. One goroutine adds, any number read.
type Histogram struct {
	buckets [bucketCount]atomic.Uint64
	longest atomic.Int64
	sum     atomic.Int64
	// peaks holds the longest length of each hour of the clock, by the hour modulo the number of places. A place that is replaced is of an
	// hour that no reader asks for any more.
	peaks [hoursKept + 1]atomic.Pointer[Peak]
}

// hoursKept is how many hours back Peak looks, beside the one that has begun.
const hoursKept = 24

// A Peak is a long pause: it was over at At.
type Peak struct {
	Length time.Duration
	At     protocol.Time
}

// bucketOf returns the number of the bucket that d belongs to, and floorOf the least length in a bucket.
func bucketOf(d time.Duration) int {
	u := uint64(max(d, 0))
	if u < parts {
		return int(u)
	}
	shift := bits.Len64(u) - partBits - 1
	return shift*parts + int(u>>shift)
}

func floorOf(bucket int) time.Duration {
	if bucket < 2*parts {
		return time.Duration(bucket)
	}
	shift := bucket/parts - 1
	return time.Duration(uint64(bucket-shift*parts) << shift)
}

// Add counts a pause of the length d that is over now.
func (h *Histogram) Add(now protocol.Time, d time.Duration) {
	h.buckets[bucketOf(d)].Add(1)
	h.sum.Add(int64(max(d, 0)))
	if int64(d) > h.longest.Load() {
		h.longest.Store(int64(d))
	}
	place := &h.peaks[hourOf(now)%int64(len(h.peaks))]
	if p := place.Load(); p == nil || d > p.Length || hourOf(p.At) != hourOf(now) {
		place.Store(&Peak{Length: d, At: now})
	}
}

func hourOf(t protocol.Time) int64 { return int64(max(t, 0)) / int64(time.Hour) }

// Day returns the longest pause of the last 24 hours, of equal ones any; zero if there was none. It may look up to an hour further back, never less.
func (h *Histogram) Day(now protocol.Time) Peak {
	var longest Peak
	for i := range h.peaks {
		if p := h.peaks[i].Load(); p != nil && hourOf(now)-hourOf(p.At) <= hoursKept && p.Length > longest.Length {
			longest = *p
		}
	}
	return longest
}

// Sum returns the sum of all lengths added.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.sum.Load()) }

// Buckets yields how many of the lengths added are at most so long, and longer than those of the bucket before. Empty buckets are left out.
func (h *Histogram) Buckets(yield func(longest time.Duration, n uint64)) {
	for i := range h.buckets {
		if n := h.buckets[i].Load(); n > 0 {
			yield(floorOf(i+1)-1, n)
		}
	}
}

// Longest returns the longest length added.
func (h *Histogram) Longest() time.Duration { return time.Duration(h.longest.Load()) }

// Count returns how many lengths were added.
func (h *Histogram) Count() uint64 {
	var n uint64
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}

// Quantile returns a length that the given share of those added do not exceed by more than a bucket; zero if there are
// none.
func (h *Histogram) Quantile(share float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := uint64(share * float64(total-1))
	for i := range h.buckets {
		n := h.buckets[i].Load()
		if rank < n {
			return min(floorOf(i+1)-1, h.Longest())
		}
		rank -= n
	}
	return h.Longest()
}
