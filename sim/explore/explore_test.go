package explore

import (
	"flag"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// The long run: go test ./sim/explore -run AnyOrder -explore.states 10000000 -timeout 2h -v
var states = flag.Int("explore.states", 30_000, "how many distinct states TestAnyOrder visits")

// apart keeps the two candidates from talking to each other.
var apart = [][2]protocol.Rank{{0, 1}}

// releases are the requests that give something up.
func releases(m protocol.Message) bool {
	r, ok := m.(*lease.Request)
	return ok && len(r.Releases) > 0
}

// Each slice is a part of the space that is small enough to be visited on every run of the tests, and that reaches what one
// rule of the protocol is there for. The long run visits much more, without knowing what to look for.
func TestNoReachableStateBreaksAnInvariant(t *testing.T) {
	for _, c := range []struct {
		name     string
		quarters int
		set      func(*Options)
		states   int // at most
	}{
		{"nothing goes wrong", 24, func(*Options) {}, 0},
		{"a crash and a restart at any point", 10, func(o *Options) { o.Crashes = 1 }, 0},
		{"a crash and a restart, candidates apart", 12, func(o *Options) { o.Crashes, o.Cut = 1, apart }, 0},
		{"a resignation at any point", 10, func(o *Options) { o.Resignations, o.Slow = 1, 1 }, 0},
		{"a resignation and a message that is late", 8, func(o *Options) { o.Resignations, o.Holds = 1, 1 }, 20_000},
		{"a late release, a crash, and another campaign", 14, func(o *Options) {
			o.Coarse, o.Resignations, o.Crashes, o.Campaigns, o.Holds, o.Holdable = true, 1, 1, 1, 1, releases
		}, 60_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Nerio(c.quarters)
			c.set(&o)
			o.States = c.states
			if r := clean(t, o); c.states == 0 && !r.Complete {
				t.Error("not all states were visited")
			}
		})
	}
}

// Leases of two lengths at one member: what becomes of the promises of one length leaves those of the other alone, and a
// member that leads again may have another length.
func TestNoReachableStateBreaksAnInvariantWithTwoLengths(t *testing.T) {
	for _, c := range []struct {
		name     string
		quarters int
		set      func(*Options)
		states   int // at most
	}{
		{"nothing goes wrong", 20, func(*Options) {}, 0},
		{"a crash and a restart, candidates apart", 12, func(o *Options) { o.Coarse, o.Crashes, o.Cut = true, 1, apart }, 0},
		{"a resignation, another length, and a message that is late", 12, func(o *Options) {
			o.Coarse, o.Resignations, o.Campaigns, o.Holds = true, 1, 1, 1
		}, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Lengths(c.quarters)
			c.set(&o)
			o.States = c.states
			if r := clean(t, o); c.states == 0 && !r.Complete {
				t.Error("not all states were visited")
			}
		})
	}
}

// Guardians: each member learns of a death at any time, or never. The dead member may be back by then.
func TestNoReachableStateBreaksAnInvariantWithGuardians(t *testing.T) {
	for _, c := range []struct {
		name     string
		quarters int
		set      func(*Options)
		states   int // at most
	}{
		{"a crash and a restart, candidates apart", 10, func(o *Options) { o.Coarse, o.Crashes, o.Cut = true, 1, apart }, 0},
		{"a crash, a restart and a message that is late", 8, func(o *Options) { o.Coarse, o.Crashes, o.Holds = true, 1, 1 }, 30_000},
		{"a crash, a restart and another campaign", 16, func(o *Options) { o.Coarse, o.Crashes, o.Campaigns, o.Cut = true, 1, 1, apart }, 40_000},
		{"two crashes, and a report that comes twice", 8, func(o *Options) { o.Coarse, o.Crashes, o.Duplicates = true, 2, 1 }, 30_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Nerio(c.quarters)
			o.Died = func() protocol.Message { return &nerio.Died{} }
			c.set(&o)
			o.States = c.states
			if r := clean(t, o); c.states == 0 && !r.Complete {
				t.Error("not all states were visited")
			}
		})
	}
}

// clean explores and wants no violation.
func clean(t *testing.T, o Options) Result {
	t.Helper()
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation != nil {
		t.Error(r.String())
	}
	if r.Led == 0 {
		t.Error("nobody ever leads: nothing was shown")
	}
	t.Log(r.String())
	return r
}

// Three members, two candidates, a crash and a restart, a resignation, a message that comes twice, and any order of
// messages, with no idea of what to look for. As many states as asked for are visited.
func TestAnyOrder(t *testing.T) {
	o := Nerio(12)
	o.Free, o.Crashes, o.Resignations, o.Duplicates = true, 1, 1, 1
	o.States = *states
	begun := time.Now()
	o.Progress = func(n int) {
		if n%1_000_000 == 0 {
			t.Logf("%d states after %v", n, time.Since(begun).Round(time.Second))
		}
	}
	if r := clean(t, o); r.States < *states && !r.Complete {
		t.Errorf("%d states", r.States)
	}
}
