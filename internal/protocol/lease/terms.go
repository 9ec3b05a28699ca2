package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// MaxTerm is the highest term there is: one that a store with 53-bit integers can still compare.
const MaxTerm = 1<<53 - 1

// By how much a ceiling is raised above what was seen, so that the disk is far from the path of a fail-over (K of PROTOCOLS §3.6). A member that
// crashes skips as many terms, and people read tokens. So it is little at first, and twice as much with each raise that follows another within
// growWithin: half of it lasts for so long then, however many terms are used in a second. It is little again after calmAfter without a raise.
const (
	LeastAhead = 32
	MostAhead  = 1 << 20
	growWithin = 10 * time.Second
	calmAfter  = 8 * growWithin
)

// Terms is what one member knows about terms apart from any group.
type Terms struct {
	// Floor is the highest term that this member may have accepted and forgotten: before its start, or in a group that it
	// folded.
	Floor uint64
	// Durable is the ceiling that is on disk. An acceptance above it must wait for the disk.
	Durable uint64
	// Highest is the highest term or floor seen from anybody.
	Highest uint64
	// Used is the highest term that this member has accepted, proposed or folded. A start after a clean stop goes on from there.
	Used uint64
	// Peers is the highest floor of another member.
	Peers uint64
	// Step, if it is not zero, is by how much the ceiling is raised whatever the load is.
	Step uint64

	ahead  uint64        // by how much the ceiling was raised last
	raised protocol.Time // when it was
}

// See takes note of a term.
func (t *Terms) See(term uint64) { t.Highest = max(t.Highest, min(term, MaxTerm)) }

// Use takes note of a term that this member accepts, proposes or folds.
func (t *Terms) Use(term uint64) {
	t.See(term)
	t.Used = max(t.Used, min(term, MaxTerm))
}

// SeeFloor takes note of another member's floor.
func (t *Terms) SeeFloor(floor uint64) {
	t.See(floor)
	t.Peers = max(t.Peers, min(floor, MaxTerm))
}

// Begin returns the ceiling that a member starts with.
func (t *Terms) Begin(now protocol.Time) uint64 {
	t.ahead, t.raised = t.least(), now
	return min(t.Highest+t.ahead, MaxTerm)
}

// Ceiling returns the ceiling that should be made durable, given the one that was last asked for, which it returns if
// there is no need for a higher one.
func (t *Terms) Ceiling(now protocol.Time, asked uint64) uint64 {
	ahead := max(t.ahead, t.least())
	if t.Highest+ahead/2 <= asked || asked == MaxTerm {
		return asked
	}
	switch since := now.Sub(t.raised); {
	case t.Step != 0:
	case since < growWithin:
		ahead = min(2*ahead, MostAhead)
	case since >= calmAfter:
		ahead = t.least()
	}
	t.ahead, t.raised = ahead, now
	return min(t.Highest+ahead, MaxTerm)
}

// Overdue returns the ceiling that should be made durable if the disk has not written the last one for long, as when it is full: the highest there
// is, because the next write that succeeds may be the last for days. It returns the one that was asked for if that is far enough ahead.
func (t *Terms) Overdue(now protocol.Time, asked uint64) uint64 {
	if t.Step != 0 || asked >= min(t.Highest+MostAhead/2, MaxTerm) {
		return asked
	}
	t.ahead, t.raised = MostAhead, now
	return min(t.Highest+MostAhead, MaxTerm)
}

// Left returns how many terms may be accepted before the disk has to write again.
func (t *Terms) Left() uint64 { return t.Durable - min(t.Durable, t.Highest) }

func (t *Terms) least() uint64 {
	if t.Step != 0 {
		return t.Step
	}
	return LeastAhead
}

// appendState appends what is ever acted on, but for how soon the next raise would grow no longer: or no two states would be alike for seconds.
func (t *Terms) appendState(s *State) {
	s.Uint(t.Floor)
	s.Uint(t.Durable)
	s.Uint(t.Highest)
	s.Uint(t.Used)
	s.Uint(t.Peers)
	s.Uint(t.ahead)
	if t.ahead != 0 {
		s.Bool(s.Now.Sub(t.raised) < growWithin)
		s.Bool(s.Now.Sub(t.raised) >= calmAfter)
	}
}
