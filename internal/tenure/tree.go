package tenure

import "math"

// Cgroup is what a search found in the cgroup that was made for a tenure.
type Cgroup uint8

// What a search finds there.
const (
	NoCgroup Cgroup = iota // there is none, or the searcher cannot read it
	Occupied               // processes are in it
	Empty                  // nobody is
)

// A Search is what a killer found when it looked for the processes of a tree, twice in a row with the same result.
type Search struct {
	Cgroup Cgroup
	// Left is how many processes of the tree were found alive that the searcher may kill, Foreign how many that it may not: they
	// run as another user, outside the cgroup.
	Left, Foreign int
	// Held is how many addresses of the tenure the host still had when all of these were killed: who leads next is to have them. Those that a later leadership of
	// this host holds do not count: see Ref.Succeeded.
	Held int
	// Hidden says that the searcher may not see all processes of the host, or not the environments of the tree's user. The runner
	// itself sees enough if it counts its children: those that it cannot see are Foreign.
	Hidden bool
	// Adopter says that the runner lived from before the killing until after the search. The kernel gives it every process of the
	// tree that loses its parent, so that nobody can hide from who sees the runner's children.
	Adopter bool
}

// Verdict says what the search proves, as an event; false: nothing yet, kill, delete addresses and look again. Not to find anybody proves
// something only where nobody can hide: in a cgroup, or under a living runner whose children the searcher sees.
func (s Search) Verdict() (Kind, bool) {
	switch {
	case s.Cgroup == Occupied || s.Left > 0 || s.Held > 0:
		return Tick, false
	case s.Foreign > 0:
		return TreeUnknown, true
	case s.Cgroup == Empty:
		return TreeGone, true
	case s.Adopter && !s.Hidden:
		return TreeGone, true
	}
	return TreeUnknown, true
}

// An Identity is a process: numbers are used again, but not within one tick of the clock that counts starts. Production
// holds a pidfd as well, and compares before and after it opened that.
type Identity struct {
	Pid     int
	Started uint64
}

// A Process is one row of a walk through all processes of the host.
type Process struct {
	Identity
	Parent, Session int
	UID             int
	// Inside says that it is in the cgroup of the tree that is looked for.
	Inside bool
	// Marked says that its environment has the secret mark of that tree, Helper that it is marked as a helper of a runner; both
	// are false where the environment cannot be read.
	Marked, Helper bool
}

// A Ref says how to find the processes of a tree.
type Ref struct {
	// Runner is the process that starts the tree and adopts its orphans, First the first process, whose session is its own; zero:
	// not known.
	Runner, First Identity
	// Seen is the start time of the youngest process at an instant at which First was known to live. Who was born into its session
	// until then belongs to the tree. Of later ones that is not known: a session that has ended leaves its number to others.
	Seen uint64
	// Keeper is no part of the tree.
	Keeper Identity
	// UID is the user of the runner, as the kernel reported it to the asked party. Outside the cgroup only its processes are killed.
	UID int
}

// Pick appends to kill the positions of the processes of the tree that may be killed, and returns how many more it found that
// may not. scratch is used and returned grown, so that a searcher need not allocate.
func (r *Ref) Pick(all []Process, kill []int, scratch []bool) (mine []int, foreign int, grown []bool) {
	scratch = append(scratch[:0], make([]bool, len(all))...)
	runner, seen := false, r.Seen
	for i := range all {
		p := &all[i]
		runner = runner || p.Identity == r.Runner
		if p.Identity == r.First {
			seen = math.MaxUint64
		}
	}
	for again := true; again; { // until no parent brings in another child
		again = false
		for i := range all {
			if !scratch[i] && r.belongs(&all[i], all, scratch, runner, seen) {
				scratch[i], again = true, true
			}
		}
	}
	for i := range all {
		switch {
		case !scratch[i]:
		case all[i].Inside || all[i].UID == r.UID:
			kill = append(kill, i)
		default:
			foreign++
		}
	}
	return kill, foreign, scratch
}

// Succeeded says whether a process that holds an address of the tree is of a later leadership on this host: the address is that one's then, and who ends
// this tree leaves it alone. Holders are those that live, may change addresses and name this one. A tree whose first process is not known has no successor: what
// holds the address may be that process.
func (r *Ref) Succeeded(holders []Identity) bool {
	for _, h := range holders {
		if r.First.Pid != 0 && h.Started > r.First.Started {
			return true
		}
	}
	return false
}

// belongs says whether a process bears a sign of the tree, or its parent belongs.
func (r *Ref) belongs(p *Process, all []Process, in []bool, runner bool, seen uint64) bool {
	switch {
	case p.Identity == r.Runner || p.Identity == r.Keeper:
		return false
	case p.Inside:
		return true
	case p.Started < r.Runner.Started:
		return false // it is older than the runner
	case p.Marked:
		return true
	case r.First.Pid != 0 && p.Session == r.First.Pid && p.Started >= r.First.Started && p.Started <= seen:
		return true
	case p.Helper:
		return false
	case runner && p.Parent == r.Runner.Pid: // it is younger, as all that come this far
		return true
	}
	for i := range all {
		// A walk is no snapshot: a younger process may have the parent's number by now. Ancestors are older.
		if in[i] && all[i].Pid == p.Parent && all[i].Started <= p.Started {
			return true
		}
	}
	return false
}
