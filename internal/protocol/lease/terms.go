package lease

// MaxTerm is the highest term there is: one that a store with 53-bit integers can still compare.
const MaxTerm = 1<<53 - 1

// Ahead is K of PROTOCOLS §3.6: by how much a ceiling is raised above what is needed, so that the disk is far from the
// path of a fail-over.
const Ahead = 1 << 20

// Terms is what one member knows about terms apart from any group.
type Terms struct {
	// Floor is the highest term that this member may have accepted and forgotten: before its start, or in a group that it
	// folded.
	Floor uint64
	// Durable is the ceiling that is on disk. An acceptance above it must wait for the disk.
	Durable uint64
	// Highest is the highest term or floor seen from anybody.
	Highest uint64
	// Peers is the highest floor of another member.
	Peers uint64
}

// See takes note of a term.
func (t *Terms) See(term uint64) { t.Highest = max(t.Highest, min(term, MaxTerm)) }

// SeeFloor takes note of another member's floor.
func (t *Terms) SeeFloor(floor uint64) {
	t.See(floor)
	t.Peers = max(t.Peers, min(floor, MaxTerm))
}

// Ceiling returns the ceiling that should be made durable, given the one that was last asked for, which it returns if
// there is no need for a higher one.
func (t *Terms) Ceiling(asked uint64) uint64 {
	if t.Highest+Ahead/2 <= asked {
		return asked
	}
	return min(t.Highest+Ahead, MaxTerm)
}
