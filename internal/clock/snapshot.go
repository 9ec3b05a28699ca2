package clock

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Snapshots notices that this machine goes on from a snapshot. It is not safe for concurrent use.
//
// Two things show it. A hypervisor with a vmclock device counts restored snapshots, or at least disruptions of the guest's clocks,
// which live migrations are, too. And the lease clock of a restored guest goes on where it was, while a time service sets the wall clock forward by the age
// of the snapshot. A wall clock that was wrong and is set forward looks the same. Every such step ends a life though nothing was
// restored: a step that did not count could be the only sign of a restored snapshot, and the life would go on under start bits
// that it has used. A time service that sets the clock forward again and again costs availability, and never safety. Steps
// backwards show nothing.
//
// Where there is neither a vmclock device nor a time service that sets the clock, a restored snapshot is not seen here.
type Snapshots struct {
	wall   func() time.Duration
	marker func() (uint64, bool)

	mark   uint64
	marked bool
	// offset is by how much the wall clock was ahead of the lease clock.
	offset time.Duration
	known  bool
}

// snapshotStep is more than leap seconds, and than the time suspended may be wrong by.
const snapshotStep = 2 * time.Second

// NewSnapshots returns one that looks at this machine.
func NewSnapshots() *Snapshots {
	return &Snapshots{wall: func() time.Duration { return time.Duration(time.Now().UnixNano()) }, marker: disruptionMarker()}
}

// Restored says whether the machine was restored since it was called before. now is the lease clock.
func (s *Snapshots) Restored(now protocol.Time) bool {
	mark, marked := s.marker()
	disrupted := marked && s.marked && mark != s.mark
	s.mark, s.marked = mark, marked
	offset := s.wall() - time.Duration(now)
	stepped := s.known && offset-s.offset > snapshotStep
	s.offset, s.known = offset, true
	return disrupted || stepped
}
