package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/stamp"
)

// View is what a member believes about one group now. "No leader" is a view like any other, and has a cause.
type View struct {
	Group  Group
	Domain Domain
	// Leader is who leads, or NoIdent.
	Leader Ident
	// Term numbers the tenure; zero where the domain has no terms.
	Term uint64
	// Tenure tells this member's own leaderships apart; zero unless the member itself leads.
	Tenure uint64
	// Horizon says which of this member's horizons bounds its lease; counts only if the member itself leads. Until caps it:
	// the lease ends at the earlier of the two. Until is Never while the lease is renewed without a set end.
	Horizon HorizonID
	Until   Time
	// Length is that of the leader's leases; zero where it is not known, and in other domains than Quorum.
	Length time.Duration
	// Support lists who backs the leader, as far as this member knows.
	Support Set
	// Quorum is the quorum timestamp of the tenure, in which the stamps of its edicts begin; nil unless the member itself
	// leads in the domain Quorum.
	Quorum stamp.Quorum
	// Epoch is the configuration in which the leadership began; its stamps bear it.
	Epoch uint64
	// Stop asks the leading program to stop; the lease is renewed meanwhile. The driver answers with Stopped.
	Stop bool
	// Value is what the leader announces with this leadership; nil if there is nothing, or if the member has not received it.
	Value *Value
	// Agreed is what the members of a consistent group have agreed on; nil in other domains and at a member that is not of the
	// group now. It is never changed once published.
	Agreed *Agreed
	// Cause says why this view replaced the one before.
	Cause Cause
}

// MaxValue is the length of the longest value, in bytes.
const MaxValue = 256

// A Value is a text that a leader announces with its leadership, such as an address. It is never changed once published.
type Value struct {
	// Token is that of the leadership, and Version counts the values within it, from 1. A member never replaces a pair of the two
	// by a lower one.
	Token, Version uint64
	// Text is empty if the leader took its value back.
	Text string
}

// After says whether v replaces o, which may be nil.
func (v *Value) After(o *Value) bool {
	return o == nil || v.Token > o.Token || v.Token == o.Token && v.Version > o.Version
}

// Agreed is one agreement of a consistent group on who is a member. Its number is (Term of the view, Vid): views are
// ordered by the term first.
type Agreed struct {
	Vid uint64 `json:"vid"`
	// Failed and Joined are who was lost and who was taken in by this agreement. Unfinished are those that were lost before it
	// and whose recovery was never reported done: their manager died in it.
	Failed     Set    `json:"failed,omitzero"`
	Joined     Set    `json:"joined,omitzero"`
	Unfinished []Loss `json:"unfinished,omitempty"`
	// Number is that of the configuration of the council in which it was agreed on, and Before that of the agreement before it. The ranks of
	// members are those of Number, and those in Failed are of Before: a seat may have been given to another member since.
	Number uint64 `json:"number,omitempty"`
	Before uint64 `json:"before,omitempty"`
	// Recover asks this member, the manager, to recover what was lost; the driver answers with the event Recover.
	Recover bool `json:"recover,omitzero"`
	// Stalled is the member to which this one has had no link for too long while others have; Nobody if there is none.
	Stalled Rank `json:"stalled"`
}

// A Loss is members that were lost: those that had the ranks in the configuration with the number.
type Loss struct {
	Number  uint64 `json:"number,omitempty"`
	Members Set    `json:"members"`
}

// AddLoss returns a list with one more loss. Lists are in ascending order of their numbers, and have each number once.
func AddLoss(list []Loss, l Loss) []Loss {
	if l.Members.Empty() {
		return list
	}
	i, found := slices.BinarySearchFunc(list, l.Number, func(x Loss, n uint64) int { return cmp.Compare(x.Number, n) })
	if !found {
		return slices.Insert(slices.Clone(list), i, l)
	}
	list = slices.Clone(list)
	list[i].Members = list[i].Members.Union(l.Members)
	return list
}

// Domain says which promise a view, a lease or a fact belongs to.
type Domain uint8

const (
	Elector    Domain = iota // which member to trust; may be wrong for a while
	Quorum                   // at most one leader anywhere
	Local                    // one leader in each logical partition
	Consistent               // a fault manager over an agreed view
)

var domains = [...]string{"elector", "quorum", "local", "consistent"}

func (d Domain) String() string { return name(domains[:], int(d)) }

// HorizonID names a horizon of one member.
type HorizonID uint32

// A Horizon is the end of all leases of one member that the same voters back at once. A renewal moves it one time,
// however many groups lie behind it. It never moves back. Retired horizons are not used again.
type Horizon struct {
	ID    HorizonID
	Until Time
}

// An Answer is what became of a Find, a Verify or a Transfer.
type Answer struct {
	ID    uint64
	Group Group
	// OK says that a leader was found, that it is proven to lead, that the group was handed over, or that the wish to lead it
	// was noted.
	OK bool
	// Why says why a Transfer or a Campaign came to nothing.
	Why Refusal
	// Lengths are those that leave no room for another, if that is why.
	Lengths []time.Duration
	// Leader is who leads, as far as anybody asked knows, or NoIdent; Term is its term.
	Leader Ident
	Term   uint64
	// Until, after a Verify, is the instant of this member's clock before which Leader is proven to lead, and Value what it
	// announces; nil: nothing.
	Until Time
	Value *Value
	// Said, after a Find that asked all, is what other members have said, each once. Leader and Term are what this one knows.
	Said []Said
}

// Said is which leader of a group a member reports. Leader is NoIdent if it knows of none.
type Said struct {
	By     Rank
	Leader Ident
	Term   uint64
}

// A Refusal is the reason why a group was not handed over, or why a wish to lead it was not noted.
type Refusal uint8

const (
	NotRefused    Refusal = iota
	NotLeading            // this member does not lead the group
	ToItself              // the successor is this member
	MayNotLead            // the successor votes but never leads, or has no vote
	NoCandidate           // the successor has not said that it would lead the group, or is not well
	NotTaken              // the successor did not lead in time
	TakenByElse           // another member leads
	LeaseTooShort         // renewals and a round trip do not fit into a lease of that length
	LeaseTooLong          // the length is beyond the council's longest
	TooManyLeases         // this member has programs with too many other lengths
)

var refusals = [...]string{"not refused", "this member does not lead", "this member leads already", "the successor may not lead",
	"the successor is no candidate", "the successor did not take it in time", "another member leads",
	"the lease is too short", "the lease is longer than the council's longest", "there are leases of too many lengths"}

func (r Refusal) String() string { return name(refusals[:], int(r)) }

// A Cause is the reason for a change of leader.
type Cause struct {
	Code CauseCode
	// Peer is the member that the cause is about, or Nobody.
	Peer Rank
	// Bound is the proven bound that was exceeded, or how long was waited; zero if there is none.
	Bound time.Duration
}

// CauseCode is the kind of a cause.
type CauseCode uint8

const (
	Unexplained  CauseCode = iota
	Started                // nobody has been heard of yet
	Elected                // the peer was elected
	Suspected              // nothing was heard of the peer for Bound: it crashed, or cannot be reached
	Returned               // the better-ranked peer was heard again
	LeaseExpired           // the lease ran out before it was renewed
	Resigned               // the leader gave the group up
	Transferred            // the leader handed the group over to the peer
	SlowLink               // messages of the peer are proven only to take at most Bound, which is too long
	Merged                 // the better-ranked peer took over when partitions merged
	NoQuorum               // too few members answer, and have not for Bound
	Restarted              // the peer was restarted and has forgotten what it promised
	ClockFault             // the clock stopped, jumped, or runs at the wrong rate
	Unhealthy              // the leader's own health check failed
	Closed                 // the member is leaving
	Doubted                // the peer doubts the leader, or knows of a later election
	NoAccess               // one leader after another fails: no member has good links with all others
	AllAgree               // all members agree on who is one; the peer is their manager
	Excluded               // the others agreed that this member has failed
	Stalled                // the link to the peer is broken, and only that, for Bound
	TooMany                // the council has as many groups of this kind as it can have
	Announced              // the peer, which leads, announced another value
	Drained                // an operator keeps the peer from leading
	Balanced               // the leader handed the group over to the peer, which has joined and has the group's place
	Died                   // the process of the peer is proven dead
)

var causes = [...]string{"unexplained", "started", "elected", "suspected", "returned", "lease expired", "resigned",
	"transferred", "slow link", "merged", "no quorum", "restarted", "clock fault", "unhealthy", "closed", "doubted",
	"nobody accessible", "all agree", "excluded", "stalled", "too many groups", "announced", "drained", "balanced", "died"}

func (c CauseCode) String() string { return name(causes[:], int(c)) }

// String shows the cause for people, such as "suspected b (silent for 150ms)".
func (c Cause) String() string {
	s := c.Code.String()
	if c.Peer != Nobody {
		s += " " + c.Peer.String()
	}
	if c.Bound != 0 {
		verb := "bound"
		switch c.Code {
		case Suspected:
			verb = "silent for"
		case NoQuorum, Stalled:
			verb = "for"
		}
		s += fmt.Sprintf(" (%s %v)", verb, c.Bound)
	}
	return s
}

// name returns names[i], or a number where a newer peer knows more names than we do.
func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("#%d", i)
}
