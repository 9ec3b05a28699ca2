package tenure

import "time"

// A Move is what a killer of a tree does next.
type Move uint8

// The moves.
const (
	Strike Move = iota // kill at once what the reference knows: all in the cgroup, the first process, its process group
	Walk               // look at all processes of the host, kill those of the tree, and report what was found
	Rest               // wait for Pause
	Proven             // nothing more: what the last walk found counts
	moves  = iota
)

var moveNames = [moves]string{"Strike", "Walk", "Rest", "Proven"}

func (m Move) String() string { return moveNames[m] }

// A Hunt is the order in which a killer works. It strikes what it knows before it looks for others: a walk through all processes
// of a starved host takes seconds. It repeats both until two walks in a row prove the same. The zero value begins.
type Hunt struct {
	next   Move
	before Kind
	// proven says that the last walk proved something.
	proven bool
	pause  time.Duration
}

// Next returns the next move. After a Walk comes Found.
func (h *Hunt) Next() Move {
	now := h.next
	switch now {
	case Strike:
		h.next = Walk
	case Rest:
		h.next = Strike
	}
	return now
}

// The pauses between two looks at a tree that does not end.
const (
	firstPause   = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
)

// Found takes what a walk proves: see [Search.Verdict]. What was found once is looked at again at once.
func (h *Hunt) Found(verdict Kind, ok bool) {
	switch {
	case ok && h.proven && verdict == h.before:
		h.next = Proven
	case ok && !h.proven:
		h.next = Strike
	default:
		h.next = Rest
		h.pause = min(max(2*h.pause, firstPause), longestPause)
	}
	h.before, h.proven = verdict, ok
}

// Pause returns how long to rest.
func (h *Hunt) Pause() time.Duration { return h.pause }

// A walk runs with real-time scheduling where it may. It lets ordinary threads run for a break after each turn.
const (
	WalkTurn  = 5 * time.Millisecond
	WalkBreak = time.Millisecond
)

// Breaks says that a walk that has used so much processor time since its last break makes one.
func Breaks(used time.Duration) bool { return used >= WalkTurn }
