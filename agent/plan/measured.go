package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/regentproject/regent"
)

// A Bucket counts pauses by their length, as a running member does.
type Bucket = regent.PauseBucket

// Thread is which kind of thread was watched.
type Thread string

const (
	// MemberThread is scheduled as the loop of a member is: in real time, where that is permitted.
	MemberThread Thread = "member's thread"
	// OrdinaryThread is scheduled as programs are.
	OrdinaryThread Thread = "ordinary thread"
)

// Load is what else the host did meanwhile.
type Load string

const (
	// AsIs is what the host does anyway.
	AsIs Load = "host as it is"
	// Awake is the same with the processors kept from deep sleep (/dev/cpu_dma_latency).
	Awake Load = "processors held awake"
	// Busy is beside one busy process for each processor.
	Busy Load = "all processors busy"
)

// Pauses are those of one thread, under one load.
type Pauses struct {
	Thread Thread `json:"thread"`
	Load   Load   `json:"load"`
	// Realtime says that the thread had real-time scheduling.
	Realtime bool `json:"realtime"`
	// For is how long it was watched, and Step how often it looked: a pause may have been longer than it was seen to be by Step.
	For     time.Duration `json:"for_ns"`
	Step    time.Duration `json:"step_ns"`
	Longest time.Duration `json:"longest_ns"`
	Buckets []Bucket      `json:"buckets"`
}

// above returns how many pauses may have been longer than d. Those in the bucket of d count.
func (p *Pauses) above(d time.Duration) uint64 {
	var n uint64
	for _, b := range p.Buckets {
		if min(b.Upper, p.Longest)+p.Step > d {
			n += b.Count
		}
	}
	return n
}

// Quantile returns a length that the given share of the pauses do not exceed.
func (p *Pauses) Quantile(share float64) time.Duration {
	var total, sum uint64
	for _, b := range p.Buckets {
		total += b.Count
	}
	for _, b := range p.Buckets {
		sum += b.Count
		if float64(sum) >= share*float64(total) {
			return min(b.Upper, p.Longest)
		}
	}
	return p.Longest
}

// A Trip is what packets to one other host took, there and back.
type Trip struct {
	Peer    string        `json:"peer"`
	Count   int           `json:"count"`
	Lost    int           `json:"lost"`
	Median  time.Duration `json:"median_ns"`
	Longest time.Duration `json:"longest_ns"`
	// Smoothed says that Longest is of averages, as the agent's links keep them.
	Smoothed bool `json:"smoothed"`
}

// Syncs are how long it took to write a small file so that it survives a loss of power.
type Syncs struct {
	Dir     string        `json:"dir"`
	Load    Load          `json:"load"`
	Count   int           `json:"count"`
	Median  time.Duration `json:"median_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// Steal is what share of the processors' time the host of a virtual machine gave to others.
type Steal struct {
	Load  Load    `json:"load"`
	Share float64 `json:"share"`
}

// Measured is all that was measured at one host.
type Measured struct {
	Pauses []Pauses `json:"pauses,omitempty"`
	Trips  []Trip   `json:"round_trips,omitempty"`
	Syncs  []Syncs  `json:"syncs,omitempty"`
	Steal  []Steal  `json:"steal,omitempty"`
	// Hints say what would help this host.
	Hints []string `json:"hints,omitempty"`
}

// of returns the pauses of a thread. While the agent holds the processors awake, what was measured with them held counts in place of the host as it is.
func (m *Measured) of(thread Thread, awake bool) []*Pauses {
	var out []*Pauses
	held := awake && slices.ContainsFunc(m.Pauses, func(p Pauses) bool { return p.Thread == thread && p.Load == Awake })
	for i := range m.Pauses {
		p := &m.Pauses[i]
		if p.Thread == thread && p.Load != Awake && !(held && p.Load == AsIs) || held && p.Thread == thread && p.Load == Awake {
			out = append(out, p)
		}
	}
	return out
}

// longest returns the longest pause that the thread may have had, and for how long it was watched.
func (m *Measured) longest(thread Thread, awake bool) (longest, watched time.Duration) {
	seen, step, watched := m.worst(thread, awake)
	return seen + step, watched
}

// worst returns the longest pause that was seen, and by how much it may have been longer.
func (m *Measured) worst(thread Thread, awake bool) (seen, step, watched time.Duration) {
	for _, p := range m.of(thread, awake) {
		if len(p.Buckets) > 0 && p.Longest+p.Step > seen+step {
			seen, step = p.Longest, p.Step
		}
		watched += p.For
	}
	return seen, step, watched
}

// Bound says how often pauses of a thread are longer than d.
func (m *Measured) Bound(thread Thread, awake bool, d time.Duration) Bound {
	var seen uint64
	var watched time.Duration
	for _, p := range m.of(thread, awake) {
		seen, watched = seen+p.above(d), watched+p.For
	}
	b := newBound(d, seen, watched)
	b.Thread = thread
	return b
}

// trip returns the longest round trip that was measured; zero if none was.
func (m *Measured) trip() time.Duration {
	var longest time.Duration
	for i := range m.Trips {
		longest = max(longest, m.Trips[i].Longest)
	}
	return longest
}

// usually returns by how much the member's thread wakes up late in 99 of 100 cases.
func (m *Measured) usually(awake bool) time.Duration {
	var late time.Duration
	for _, p := range m.of(MemberThread, awake) {
		late = max(late, p.Quantile(0.99))
	}
	return late
}

// Together returns all pauses of a thread in one histogram, the shortest first.
func (m *Measured) Together(thread Thread, awake bool) []Bucket {
	var out []Bucket
	for _, p := range m.of(thread, awake) {
		for _, b := range p.Buckets {
			at, found := slices.BinarySearchFunc(out, b.Upper, func(b Bucket, d time.Duration) int { return cmp.Compare(b.Upper, d) })
			if found {
				out[at].Count += b.Count
			} else {
				out = slices.Insert(out, at, b)
			}
		}
	}
	return out
}
