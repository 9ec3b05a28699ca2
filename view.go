package regent

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/why"
)

// An Instant is a point in time of one member's lease clock, in nanoseconds. It means nothing to any other member, nor
// to another start of the same one, and has nothing to do with the time of day: a lease must not end sooner or later
// because somebody set a clock.
type Instant int64

// Sub returns the length of time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return protocol.Time(i).Sub(protocol.Time(j)) }

// A View is what this member believes about a group: who leads it, or that nobody does, and why that changed. It is
// knowledge, not proof: see [Group.Verify].
type View struct {
	// Group is the name of the group.
	Group string `json:"group"`
	// Leader is the name of the member that leads; empty if nobody does, as far as this member knows.
	Leader string `json:"leader"`
	// Token is the leader's, if there is one. It grows with every leadership of the group.
	Token uint64 `json:"token,omitempty"`
	// Mine says that a program of this very member leads. Stopping, that it has been asked to stop.
	Mine     bool `json:"mine"`
	Stopping bool `json:"stopping"`
	// Cause says why this view replaced the one before.
	Cause Cause `json:"cause"`
	// At is when, on this member's clock.
	At Instant `json:"at"`
	// Missed is how many views between the one seen before and this one a slow watcher did not get to see.
	Missed int `json:"missed,omitempty"`
}

// String shows the view in a line.
func (v View) String() string {
	who := "no leader"
	if v.Leader != "" {
		who = fmt.Sprintf("%s leads with token %d", v.Leader, v.Token)
	}
	return fmt.Sprintf("%s: %s (%v)", v.Group, who, v.Cause)
}

// A Cause is the reason for a change.
type Cause struct {
	// Why is the kind of cause.
	Why why.Kind `json:"why"`
	// Member is whom it is about; empty if nobody.
	Member string `json:"member,omitempty"`
	// Bound is the time that was waited, or the proven bound that was exceeded; zero if there is none.
	Bound time.Duration `json:"bound,omitempty"`
}

// String shows the cause, such as "suspected b (silent for 150ms)".
func (c Cause) String() string {
	s := c.Why.String()
	if c.Member != "" {
		s += " " + c.Member
	}
	switch {
	case c.Bound == 0:
	case c.Why == why.Suspected:
		s += fmt.Sprintf(" (silent for %v)", c.Bound)
	case c.Why == why.NoQuorum:
		s += fmt.Sprintf(" (for %v)", c.Bound)
	default:
		s += fmt.Sprintf(" (bound %v)", c.Bound)
	}
	return s
}
