package runtime

import (
	"sync/atomic"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/lateness"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// Stats is what a loop measures of itself.
type Stats struct {
	// Late counts by how much the loop woke up too late: its own pauses.
	Late lateness.Histogram
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
