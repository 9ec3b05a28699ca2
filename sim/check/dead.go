package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Dead is R-DEAD: who is dead is no candidate.
type Dead struct {
	group protocol.Group
	alive map[protocol.Rank]bool
}

// NewDead returns the checker of one group.
func NewDead(g protocol.Group) *Dead { return &Dead{g, make(map[protocol.Rank]bool)} }

// Name returns R-DEAD.
func (d *Dead) Name() string { return "R-DEAD" }

// Observe follows who is dead.
func (d *Dead) Observe(r *sim.Record) error {
	switch {
	case r.Ev == sim.EvCrash || r.Ev == sim.EvClose:
		d.alive[r.Node] = false
	case r.Dom != protocol.Consistent || r.Group != d.group:
	case r.Ev == protocol.EvNode:
		d.alive[r.Node] = r.Why != "dead"
	case r.Ev == protocol.EvCand && !d.alive[r.Node]:
		return Violatedf(d.Name(), r.T, "%v is dead and asks %v about %v", r.Node, r.Peer, r.Members)
	}
	return nil
}

// Finish has nothing to add.
func (d *Dead) Finish() error { return nil }
