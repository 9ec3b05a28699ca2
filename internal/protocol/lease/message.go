package lease

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Request asks a voter to renew its promises to the sender, from now on the voter's clock: that of the length 0 for
// Delta, and those in More. It also carries what the voter has not yet answered: claims of groups, and releases of groups.
type Request struct {
	Epoch  uint64
	Digest uint64 // of the council's configuration
	// Seq numbers the requests of one incarnation of the sender, to whomever they go.
	Seq uint64
	// Delta is for how long the promise of the length 0 is asked for; zero if it is not.
	Delta time.Duration
	// Start is the synchronised time of the request; zero under bounded drift, where a voter has no use for it.
	Start    protocol.Time
	Claims   []Claim
	Releases []Release
	// Info is for the policy; nil under Nerio.
	Info []byte
	// More are the other promises that are asked for, in ascending order of their lengths.
	More []Ask
	// Wish is the longest lease that a program of any member wants, as far as the sender knows. A voter makes ready for it, so that
	// the first who asks for it does not wait for a disk. Zero: none beyond the council's.
	Wish time.Duration
}

// An Ask asks for the promise of one length.
type Ask struct {
	// Length names the promise; it is never zero here. Delta is for how long it is asked for.
	Length, Delta time.Duration
}

// A Claim asks for one group, within the promise of one length that the same request asks for.
type Claim struct {
	Group  protocol.Group
	Tenure uint64
	Term   uint64
	// Token is the term at which the tenure began to lead; zero while it only tries to. From it the voter learns who leads.
	Token uint64
	// Length names the promise; zero: the one that Request.Delta asks for.
	Length time.Duration
}

// A Release gives one group up: whatever Of was assigned in it at Term or below. Only the identity and the term count,
// not who brings it: a successor may carry its predecessor's.
type Release struct {
	Group protocol.Group
	Of    protocol.Ident
	Term  uint64
	// To is the successor that Of wishes, or Nobody. Asked says that the group was given up for its sake; otherwise it is
	// only who shall go first.
	To    protocol.Rank
	Asked bool
}

// An OK says which promises were renewed, and what became of each claim within them. All releases of the request were
// heard. A promise that is missing was asked for too late; nothing that was claimed in it was looked at.
type OK struct {
	Seq uint64
	// Gen numbers the unbroken promise of the length 0 of this voter to the asker; zero if it was not renewed. A higher one
	// than before means that the promise had lapsed in between, and all assignments with it.
	Gen uint64
	// At is the voter's clock at the instant of the grant.
	At      protocol.Time
	Floor   uint64
	Results []Result
	Info    []byte
	// Asker is the incarnation of the member that asked: each numbers its requests from 1 on.
	Asker protocol.Inc
	// More are the other promises that were renewed, in ascending order of their lengths.
	More []Kept
	// Wish is the longest lease that a program of the voter wants, as in Request.
	Wish time.Duration
}

// Kept says that the promise of one length was renewed.
type Kept struct {
	Length time.Duration
	Gen    uint64
}

// gen returns the number of the promise of a length, zero if it was not renewed.
func (m *OK) gen(length time.Duration) uint64 {
	if length == 0 {
		return m.Gen
	}
	for i := range m.More {
		if m.More[i].Length == length {
			return m.More[i].Gen
		}
	}
	return 0
}

// A Result is the answer to one claim.
type Result struct {
	Group protocol.Group
	Term  uint64 // as claimed
	Code  Code
	// Known is the voter's own term of the group.
	Known uint64
	// Holder has the group if Code is Busy, and Remaining is how much longer its promise stands on the voter's clock. Token
	// is not zero if it leads as far as the voter knows, and is then its token.
	Holder    protocol.Ident
	Remaining time.Duration
	Token     uint64
	// Candidate says that the voter itself would lead the group if it could.
	Candidate bool
	// Joined says that it has begun to since a leader of the group was last told.
	Joined bool
}

// Code is the kind of a result.
type Code uint8

const (
	Granted Code = iota
	Busy         // another holder has it
	Low          // the term is not above the voter's
	Refused      // the policy said no
)

var codes = [...]string{"granted", "busy", "low", "refused"}

func (c Code) String() string {
	if int(c) < len(codes) {
		return codes[c]
	}
	return "unknown"
}

// A Nack refuses a whole request. Nothing in it was looked at.
type Nack struct {
	Seq   uint64
	Why   Why
	Floor uint64
	// Remaining is how much longer a recovering voter waits, on its clock.
	Remaining time.Duration
	// Asker is that of OK.
	Asker protocol.Inc
}

// Why says why a whole request was refused.
type Why uint8

const (
	WhyRecovering Why = iota // the voter may have forgotten promises
	WhyEpoch                 // another epoch
	WhyConfig                // another configuration, longer than the longest promise, or too many lengths
	WhyStale                 // a later request was already taken
	WhyLate                  // the request is older than what it asks for
	WhyClock                 // its start lies in the future: synchronised time is not
	WhyClosing               // the voter is leaving
	WhyDead                  // the voter knows that the asker is dead
)

var whys = [...]string{"recovering", "epoch", "config", "stale", "late", "clock", "closing", "dead"}

func (w Why) String() string {
	if int(w) < len(whys) {
		return whys[w]
	}
	return "unknown"
}

// Name says lease.Request.
func (*Request) Name() string { return "lease.Request" }

// Patient says that the request only renews: a lease counts from the instant at which it was asked for, whenever the answer is read.
func (m *Request) Patient() bool { return len(m.Claims) == 0 && len(m.Releases) == 0 }

// Name says lease.OK.
func (*OK) Name() string { return "lease.OK" }

// Name says lease.Nack.
func (*Nack) Name() string { return "lease.Nack" }

// Copy returns an independent copy.
func (m *Request) Copy() protocol.Message {
	c := *m
	c.Claims, c.Releases, c.Info, c.More = slices.Clone(m.Claims), slices.Clone(m.Releases), slices.Clone(m.Info), slices.Clone(m.More)
	return &c
}

// Copy returns an independent copy.
func (m *OK) Copy() protocol.Message {
	c := *m
	c.Results, c.Info, c.More = slices.Clone(m.Results), slices.Clone(m.Info), slices.Clone(m.More)
	return &c
}

// Copy returns an independent copy.
func (m *Nack) Copy() protocol.Message {
	c := *m
	return &c
}
