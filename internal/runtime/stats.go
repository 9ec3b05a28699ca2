package runtime

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// Stats is what a loop measures of itself.
type Stats struct {
	// Late counts by how much the loop woke up too late: its own pauses.
	Late Lateness
	// Strays counts messages for machines that are not open here.
	Strays     atomic.Uint64
	inc        atomic.Uint64
	votes      atomic.Int64
	scheduling atomic.Pointer[thread.Scheduling]
}

// Inc is the incarnation under which the member speaks; zero while it does not know.
func (s *Stats) Inc() protocol.Inc { return protocol.Inc(s.inc.Load()) }

// Votes is since when the member votes, or when it will; Never while it does not know, zero if it began the council. A member that
// has just started does not vote before what it may have promised earlier has run out, and hears of no leader before that.
func (s *Stats) Votes() protocol.Time { return protocol.Time(s.votes.Load()) }

// Scheduling says how the loop's thread is scheduled.
func (s *Stats) Scheduling() thread.Scheduling {
	if p := s.scheduling.Load(); p != nil {
		return *p
	}
	return thread.Ordinary
}

const (
	// parts is how many buckets span a power of two, and partBits its logarithm.
	parts    = 1 << partBits
	partBits = 3
	// bucketCount is enough for every length of 63 bits.
	bucketCount = 512
)

// Lateness is a histogram of lengths of time. Each bucket spans an eighth of a power of two, so that a quantile is
// within 12.5 % of the truth. One goroutine adds, any number read.
type Lateness struct {
	buckets [bucketCount]atomic.Uint64
	longest atomic.Int64
	sum     atomic.Int64
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

func (h *Lateness) add(d time.Duration) {
	h.buckets[bucketOf(d)].Add(1)
	h.sum.Add(int64(max(d, 0)))
	if int64(d) > h.longest.Load() {
		h.longest.Store(int64(d))
	}
}

// Sum returns the sum of all lengths added.
func (h *Lateness) Sum() time.Duration { return time.Duration(h.sum.Load()) }

// Buckets yields how many of the lengths added are at most so long, and longer than those of the bucket before. Empty buckets are left out.
func (h *Lateness) Buckets(yield func(longest time.Duration, n uint64)) {
	for i := range h.buckets {
		if n := h.buckets[i].Load(); n > 0 {
			yield(floorOf(i+1)-1, n)
		}
	}
}

// Longest returns the longest length added.
func (h *Lateness) Longest() time.Duration { return time.Duration(h.longest.Load()) }

// Count returns how many lengths were added.
func (h *Lateness) Count() uint64 {
	var n uint64
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}

// Quantile returns a length that the given share of those added do not exceed by more than a bucket; zero if there are
// none.
func (h *Lateness) Quantile(share float64) time.Duration {
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
