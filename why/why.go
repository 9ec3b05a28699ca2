// Package why names the reasons for which a leader changes.
//
// Every view and every lease that is over says why: regent.Cause has a [Kind], the member that it is about, and a length of
// time where there is one. Kinds are compared with ==, and written by their names in JSON.
//
//	if l.Cause().Why == why.LeaseExpired { ... }
package why

import "github.com/regentproject/regent/internal/protocol"

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
)

// last is the highest kind that has a name.
const last = Announced

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
