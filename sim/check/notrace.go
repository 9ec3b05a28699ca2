package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// NoTrace is R-33w: a suspicion that was wrong leaves no trace. In the end nobody remembers having asked or confirmed anything: whatever was
// said was taken back, led to a view, or was said over a link that went down since.
type NoTrace struct {
	truth Truth
	group protocol.Group
	core  protocol.Set
	said  map[saying]bool
}

// saying is something that a member has said to a peer and not taken back.
type saying struct {
	node, peer, about protocol.Rank
	kind              string
	ev                protocol.Ev
}

// NewNoTrace returns the checker of one group.
func NewNoTrace(t Truth, g protocol.Group) *NoTrace {
	return &NoTrace{truth: t, group: g, said: make(map[saying]bool)}
}

// Name returns R-33w.
func (n *NoTrace) Name() string { return "R-33w" }

// Observe follows what is said and taken back.
func (n *NoTrace) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			n.core = r.Members
		}
	case sim.EvCrash, sim.EvClose:
		n.drop(func(s saying) bool { return s.node == r.Node })
	case protocol.EvLink:
		n.drop(func(s saying) bool { return s.node == r.Node && s.peer == r.Peer.Rank })
	}
	if r.Group != n.group || r.Dom != protocol.Consistent {
		return nil
	}
	switch r.Ev {
	case protocol.EvInstall:
		n.drop(func(s saying) bool { return s.node == r.Node })
	case protocol.EvNode:
		if r.Why == "dead" {
			n.drop(func(s saying) bool { return s.node == r.Node })
		}
	case protocol.EvCand, protocol.EvAccept:
		if r.Members.Has(r.Node) {
			return nil // a dead member confirms that it is back, and does not remember it
		}
		n.said[saying{r.Node, r.Peer.Rank, r.Members.Min(), r.Why, r.Ev}] = true
	case protocol.EvCancel:
		n.drop(func(s saying) bool {
			return s.node == r.Node && s.peer == r.Peer.Rank && s.about == r.Members.Min() && s.kind == r.Why
		})
	}
	return nil
}

func (n *NoTrace) drop(which func(saying) bool) {
	for s := range n.said {
		if which(s) {
			delete(n.said, s)
		}
	}
}

// Finish looks for what is left.
func (n *NoTrace) Finish() error {
	for a := range n.core.All() {
		for s := range n.said {
			if s.node == a && n.core.Has(s.peer) {
				return Violatedf(n.Name(), n.truth.Now(), "%v still remembers its %s to %v about %v (%s)", s.node, s.ev, s.peer, s.about, s.kind)
			}
		}
	}
	return nil
}
