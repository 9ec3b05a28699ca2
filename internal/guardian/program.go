package guardian

import "github.com/regentproject/regent/internal/protocol"

// A Program is one outside of the process that can be proven gone: it has a runner, which starts it, and a cgroup of its own, which the runner is not in.
type Program struct {
	// Tenure is the number that the page has beside its group.
	Tenure uint64
	gone   bool
}

// Saw takes what a look has found after the death of the member: whether the runner was dead, and whether the cgroup was empty afterwards. A runner that lives may
// start something more.
func (p *Program) Saw(runnerDead, emptyAfterwards bool) {
	p.gone = p.gone || runnerDead && emptyAfterwards
}

// Gone says whether nothing of the program can act any more.
func (p *Program) Gone() bool { return p.gone }

// Keeps returns the groups that are kept now, and for how many of them a program may yet be proven gone.
func (s *Statement) Keeps(programs []Program) (kept []protocol.Group, open int) {
	state := make(map[uint64]bool, len(programs)) // whether the program is gone
	for _, p := range programs {
		if p.Tenure != 0 {
			state[p.Tenure] = p.gone
		}
	}
	for _, k := range s.Kept {
		gone, known := state[k.Tenure]
		if gone {
			continue
		}
		kept = append(kept, k.Group)
		if known {
			open++
		}
	}
	return kept, open
}
