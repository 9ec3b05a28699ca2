package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

// A report is all that a run has found. It is what the command writes as JSON.
type report struct {
	Date    time.Time `json:"date"`
	Command string    `json:"command"`
	Machine machine   `json:"machine"`
	// Load are the load averages of one minute when a block began and at the end.
	Load []float64 `json:"load"`
	// Hosts says what the hosts of a system are: network namespaces or processes on loopback.
	Hosts   string `json:"hosts"`
	Busy    int    `json:"busy_processes"`
	Runs    []*run `json:"runs"`
	Missing []gap  `json:"missing"`
}

// A machine is where it was measured.
type machine struct {
	Processors int    `json:"processors"`
	Model      string `json:"model"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	// Nice is the priority of everything that ran, as the command nice counts.
	Nice int `json:"nice"`
}

// A gap is something that was not measured.
type gap struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// A run is one system with one setting, in all blocks together.
type run struct {
	System  string  `json:"system"`
	Says    string  `json:"says"`
	Version string  `json:"version"`
	Setting setting `json:"setting"`
	// Role is default or fastest.
	Role string `json:"role"`
	// Found says how a fastest setting was found.
	Found string `json:"found,omitempty"`
	// Start is from the first process to the first leader, in milliseconds, once for each block.
	Start  sample             `json:"start_ms"`
	Trials map[string]*series `json:"trials"`
	Idle   *cost              `json:"idle"`
	Busy   *busyResult        `json:"busy"`
	Both   together           `json:"two_leaders"`
	Stale  staleness          `json:"stale"`
	Price  *price             `json:"price"`
}

// A series is trials of one kind.
type series struct {
	MS sample `json:"ms"`
	// Void trials measured nothing, because the leader had gone by itself; Failed ones had no next leader in time.
	Void   int `json:"void"`
	Failed int `json:"failed"`
}

// busyResult is what happened while other processes kept the processors busy.
type busyResult struct {
	Seconds float64 `json:"seconds"`
	Changes int     `json:"changes"`
}

// together is for how long two candidates believed at once that they lead, by their journals.
type together struct {
	Pairs   int     `json:"pairs"`
	TotalMS float64 `json:"total_ms"`
	WorstMS float64 `json:"worst_ms"`
}

// staleness is what candidates believed that had been stopped.
type staleness struct {
	Woke     int    `json:"woke"`
	Believed int    `json:"believed"`
	MS       sample `json:"ms"`
}

// price is what candidates print: see package candidate.
type price struct {
	Local     float64 `json:"local_ns"`
	Clock     float64 `json:"clock_ns"`
	Verify    float64 `json:"verify_p50_us"`
	VerifyP99 float64 `json:"verify_p99_us"`
	Verified  int     `json:"verified"`
	Refused   int     `json:"refused"`
}

// A sample is a set of numbers, in milliseconds for the most part.
type sample []float64

// at returns the smallest number that at least a share of all do not exceed.
func (s sample) at(share float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// overlaps adds up for how long two holders led at once.
func overlaps(spans []journal.Span) (t together) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b journal.Span) int { return cmp.Compare(a.Since, b.Since) })
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			if both := ms(journal.Overlap(a, b)); both > 0 && a.Holder != b.Holder {
				t.Pairs++
				t.TotalMS += both
				t.WorstMS = max(t.WorstMS, both)
			}
		}
	}
	return t
}

// add adds what happened in another block.
func (t *together) add(u together) {
	t.Pairs, t.TotalMS, t.WorstMS = t.Pairs+u.Pairs, t.TotalMS+u.TotalMS, max(t.WorstMS, u.WorstMS)
}

// add adds what was measured in another block: rates are weighted by time.
func (r *run) addIdle(c cost) {
	if r.Idle == nil {
		r.Idle = &c
		return
	}
	sum := r.Idle.Seconds + c.Seconds
	mean := func(a, b float64) float64 { return (a*r.Idle.Seconds + b*c.Seconds) / sum }
	both := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return cmp.Or(a, b)
		}
		x := mean(*a, *b)
		return &x
	}
	*r.Idle = cost{Seconds: sum, Cores: mean(r.Idle.Cores, c.Cores), Memory: max(r.Idle.Memory, c.Memory), Switches: mean(r.Idle.Switches, c.Switches),
		Packets: both(r.Idle.Packets, c.Packets), Bytes: both(r.Idle.Bytes, c.Bytes), Inside: both(r.Idle.Inside, c.Inside), Calls: both(r.Idle.Calls, c.Calls),
		Changes: r.Idle.Changes + c.Changes}
}

// addBusy adds what happened in another block.
func (r *run) addBusy(b busyResult) {
	if r.Busy == nil {
		r.Busy = &busyResult{}
	}
	r.Busy.Seconds, r.Busy.Changes = r.Busy.Seconds+b.Seconds, r.Busy.Changes+b.Changes
}

// series returns that of a kind.
func (r *run) series(kind string) *series {
	if r.Trials[kind] == nil {
		r.Trials[kind] = &series{}
	}
	return r.Trials[kind]
}

// name is how tables and plots call a run.
func (r *run) name() string { return r.System + " " + r.Setting.Name }

// perHour returns how many changes an hour would have.
func perHour(changes int, seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return float64(changes) * 3600 / seconds
}
