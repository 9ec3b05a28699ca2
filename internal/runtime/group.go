package runtime

import (
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A Change is what a program may see of a view that replaced another, at an instant of the member's clock. It is
// immutable, and small: there may be very many.
type Change struct {
	Group        protocol.Group
	Domain       protocol.Domain
	Leader       protocol.Ident
	Term, Tenure uint64
	Length       time.Duration // of the leader's leases; zero: not known
	Stop         bool
	Cause        protocol.Cause
	At           protocol.Time
	// Wall is the time of day, in nanoseconds since 1970.
	Wall int64
	// Support lists who backs the leader; nil in the domain Quorum, where only the leader knows.
	Support *protocol.Set
	// Value is what the leader announces; nil: nothing.
	Value *protocol.Value
	// Agreed is what the members of a consistent group have agreed on.
	Agreed *protocol.Agreed
	// Number counts the changes of one group at one member, from 1, and Serial those of all groups.
	Number, Serial uint64
}

// shows says whether a view is no news.
func (c *Change) shows(v *protocol.View) bool {
	return v.Domain != protocol.Consistent && c.Leader == v.Leader && c.Term == v.Term && c.Tenure == v.Tenure && c.Stop == v.Stop && c.Value == v.Value &&
		(c.Support == nil || *c.Support == v.Support)
}

// announces says whether the leader announces the value.
func (c *Change) announces(value string) bool {
	if c.Value == nil {
		return value == ""
	}
	return c.Value.Text == value
}

// recentChanges is how many changes of a group are kept for watchers that lag.
const recentChanges = 8

// A Group is one election as a member sees it. Views are read without a lock: the loop replaces an immutable list, and
// wakes the readers that wait for that.
type Group struct {
	Name protocol.Group
	// table is where programs take part; nil if they can only watch.
	table   *GroupTable
	history *history
	// recent holds the last changes, oldest first; nil before the first.
	recent  atomic.Pointer[[]*Change]
	changed signal
	// notify, if it is set, is called at every change, on the loop; the loop's own.
	notify func(now protocol.Time, c *Change)
	// slot is where the lease is published while a program here leads.
	slot stamp.Slot

	// The rest is the loop's own.

	// waiting are the programs here that want to lead, in the order in which they asked.
	waiting []*candidate
	// lease is that of the program that leads here; nil if none does.
	lease *Lease
	// campaigning is what the machine was asked for last, length with leases of which length, and question is the number of
	// that campaign; zero if nothing can be wrong with it.
	campaigning bool
	length      time.Duration
	value       string // with which its leaderships begin
	question    uint64
}

// Latest returns the last change, or nil before the first.
func (g *Group) Latest() *Change {
	recent := g.recent.Load()
	if recent == nil {
		return nil
	}
	return (*recent)[len(*recent)-1]
}

// After returns the changes after the one with the given number, oldest first, and how many of them are no longer
// known.
func (g *Group) After(number uint64) (changes []*Change, lost uint64) {
	recent := g.recent.Load()
	if recent == nil {
		return nil, 0
	}
	changes = *recent
	for len(changes) > 0 && changes[0].Number <= number {
		changes = changes[1:]
	}
	if len(changes) > 0 {
		lost = changes[0].Number - number - 1
	}
	return changes, lost
}

// Changed returns a channel that is closed at the next change. Who looks at the group after the call misses nothing.
func (g *Group) Changed() <-chan struct{} { return g.changed.wait() }

// publish replaces the view. The loop alone calls it.
func (g *Group) publish(now protocol.Time, v *protocol.View) {
	c := &Change{Group: g.Name, Domain: v.Domain, Wall: time.Now().UnixNano(), Leader: v.Leader, Term: v.Term, Tenure: v.Tenure, Length: v.Length, Stop: v.Stop, Cause: v.Cause, Value: v.Value, Agreed: v.Agreed, At: now, Number: 1}
	if v.Domain != protocol.Quorum {
		support := v.Support
		c.Support = &support
	}
	var keep []*Change
	if old := g.recent.Load(); old != nil {
		c.Number = (*old)[len(*old)-1].Number + 1
		keep = (*old)[max(0, len(*old)+1-recentChanges):]
	}
	next := make([]*Change, 0, len(keep)+1)
	next = append(append(next, keep...), c)
	if g.history != nil {
		g.history.number(c)
	}
	g.recent.Store(&next)
	if g.history != nil {
		g.history.add(c) // who finds it there and looks at the group finds it there, too
	}
	g.changed.raise()
	if g.notify != nil {
		g.notify(now, c)
	}
}
