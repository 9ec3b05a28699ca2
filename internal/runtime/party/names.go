package party

import (
	"sync"

	"github.com/regentproject/regent/internal/protocol"
)

// Names gives members ranks in the order in which they are named, for causes: parties outside a member know names only.
type Names struct {
	mu  sync.Mutex
	all []string
}

// Rank returns the rank of a name; Nobody for none.
func (n *Names) Rank(name string) protocol.Rank {
	if name == "" {
		return protocol.Nobody
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, known := range n.all {
		if known == name {
			return protocol.Rank(i)
		}
	}
	n.all = append(n.all, name)
	return protocol.Rank(len(n.all) - 1)
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
