package runtime

import "github.com/regentproject/regent/internal/protocol"

// A Mirror shows the leases of a group table elsewhere, such as on a page that other processes read. The table calls it on the
// loop, in the order in which its own readers see the changes. It must not wait.
type Mirror interface {
	// Extended moves the end of all leases behind a horizon; it never moves back.
	Extended(h protocol.HorizonID, until protocol.Time)
	// Dropped says that a horizon does not move any more. A later one may have the same name.
	Dropped(h protocol.HorizonID)
	// Behind puts the lease of a group behind a horizon, Fixed gives it an end of its own, and Ended ends it.
	Behind(g protocol.Group, token uint64, h protocol.HorizonID)
	Fixed(g protocol.Group, token uint64, until protocol.Time)
	Ended(g protocol.Group, token uint64)
}

// noMirror shows nothing.
type noMirror struct{}

func (noMirror) Extended(protocol.HorizonID, protocol.Time)        {}
func (noMirror) Dropped(protocol.HorizonID)                        {}
func (noMirror) Behind(protocol.Group, uint64, protocol.HorizonID) {}
func (noMirror) Fixed(protocol.Group, uint64, protocol.Time)       {}
func (noMirror) Ended(protocol.Group, uint64)                      {}

// mirrorLease shows where a lease lies now. One that has a limit is no longer renewed: its end is fixed.
func (t *GroupTable) mirrorLease(l *Lease) {
	if l.until == protocol.Never {
		t.mirror.Behind(l.group.Name, l.Token(), l.horizon.id)
		return
	}
	t.mirror.Fixed(l.group.Name, l.Token(), l.end())
}
