// Package why names the reasons for which a leader changes.
//
// Every view, and every lease that is over, has a [Cause]: a [Kind], the member that it is about, and a length of
// time where there is one. Kinds are compared with ==, and written by their names in JSON.
//
//	if l.Cause().Why == why.LeaseExpired { ... }
package why

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Cause is the reason for a change of leader, or for the end of a leadership.
type Cause struct {
	// Why is the kind of cause.
	Why Kind `json:"why"`
	// Member is the member that the cause is about; empty if there is none.
	Member string `json:"member,omitempty"`
	// Bound is the time that was waited, or the proven bound that was exceeded; zero if there is none. JSON has nanoseconds.
	Bound time.Duration `json:"bound_ns,omitempty"`
}

// Error makes a cause one that errors.As finds in the cause of a leading function's context.
func (c Cause) Error() string { return c.String() }

// String formats the cause, such as "suspected b (silent for 150ms)".
func (c Cause) String() string {
	s := c.Why.String()
	if c.Member != "" {
		s += " " + c.Member
	}
	switch {
	case c.Bound == 0:
	case c.Why == Suspected:
		s += fmt.Sprintf(" (silent for %v)", c.Bound)
	case c.Why == NoQuorum || c.Why == Stalled:
		s += fmt.Sprintf(" (for %v)", c.Bound)
	default:
		s += fmt.Sprintf(" (bound %v)", c.Bound)
	}
	return s
}

// Kind is a kind of cause.
type Kind uint8

// The kinds. Member and Bound are those of the cause.
const (
	Unexplained  = Kind(protocol.Unexplained)
	Started      = Kind(protocol.Started)      // nobody has been heard of yet
	Elected      = Kind(protocol.Elected)      // Member was elected
	Suspected    = Kind(protocol.Suspected)    // Member was silent for Bound
	Returned     = Kind(protocol.Returned)     // Member, which goes before others, was heard again
	LeaseExpired = Kind(protocol.LeaseExpired) // the lease was not renewed in time
	Resigned     = Kind(protocol.Resigned)     // the leader gave the group up
	Transferred  = Kind(protocol.Transferred)  // the leader handed the group over to Member
	SlowLink     = Kind(protocol.SlowLink)     // messages of Member may take as long as Bound
	Merged       = Kind(protocol.Merged)       // Member, which goes first, took over when partitions merged
	NoQuorum     = Kind(protocol.NoQuorum)     // too few members have answered, for Bound
	Restarted    = Kind(protocol.Restarted)    // Member was restarted
	ClockFault   = Kind(protocol.ClockFault)   // the clock stopped, jumped, or runs at the wrong rate
	Unhealthy    = Kind(protocol.Unhealthy)    // the leader's own health check failed
	Closed       = Kind(protocol.Closed)       // the member is leaving
	Doubted      = Kind(protocol.Doubted)      // Member doubts the leader, or knows of a later election
	NoAccess     = Kind(protocol.NoAccess)     // one leader after another fails: nobody has good links with all others
	AllAgree     = Kind(protocol.AllAgree)     // all members agree on who is one; Member manages what was lost
	Excluded     = Kind(protocol.Excluded)     // the others agreed that this member has failed
	Stalled      = Kind(protocol.Stalled)      // the link to Member is broken, and only that, for Bound
	TooMany      = Kind(protocol.TooMany)      // the council has as many consistent groups as it can have
	Announced    = Kind(protocol.Announced)    // Member, which leads, announced another value
	Drained      = Kind(protocol.Drained)      // an operator keeps Member from leading
	Balanced     = Kind(protocol.Balanced)     // the leader handed the group over to Member, which joined and is the group's place
	Died         = Kind(protocol.Died)         // the process of Member is proven dead
)

// last is the highest kind that has a name.
const last = Died

// String names the kind, such as "lease expired".
func (k Kind) String() string { return protocol.CauseCode(k).String() }

// MarshalText writes the kind by its name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes. A name that it does not know is [Unexplained].
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Unexplained
	for w := Unexplained; w <= last; w++ {
		if w.String() == string(text) {
			*k = w
		}
	}
	return nil
}
