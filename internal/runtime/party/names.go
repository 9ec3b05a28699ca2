package party

import (
	"slices"
	"sync"

	"github.com/regentproject/regent/internal/protocol"
)

// Names gives members ranks in the order in which they are entered, for causes: parties outside a member know names only.
// Invariant: it has no more names than a council has members, so that a rank is never given twice.
type Names struct {
	mu  sync.Mutex
	all []string
}

// Enter returns the rank of a member, and gives it one if it has none. It returns Nobody for no name, and for one that finds no room.
func (n *Names) Enter(name string) protocol.Rank {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.rank(name)
	if r == protocol.Nobody && name != "" && len(n.all) < protocol.MaxMembers {
		n.all = append(n.all, name)
		return protocol.Rank(len(n.all) - 1)
	}
	return r
}

// Rank returns the rank of a name that was entered; Nobody for others.
func (n *Names) Rank(name string) protocol.Rank {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rank(name)
}

func (n *Names) rank(name string) protocol.Rank {
	if i := slices.Index(n.all, name); i >= 0 {
		return protocol.Rank(i)
	}
	return protocol.Nobody
}

// Name returns the name with a rank; empty if there is none.
func (n *Names) Name(r protocol.Rank) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if int(r) < len(n.all) {
		return n.all[r]
	}
	return ""
}
