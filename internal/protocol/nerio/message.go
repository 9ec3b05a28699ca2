package nerio

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// Recover asks every other member what it knows. A member that has lost its record says it under incarnation zero and
// waits for the answers; one that has its record says it once it speaks, so that a restored backup is found out.
type Recover struct {
	Nonce uint64
	// Bootstrap says that the sender has no record and was told that it may start a new council.
	Bootstrap bool
	// Sender is the sender's own life, for the receiver to remember; zero under incarnation zero.
	Sender protocol.Life
	// Floor is the highest term that the sender may have accepted and forgotten. Candidates begin above it, and voters make ready for that.
	Floor uint64
}

// Known answers Recover.
type Known struct {
	Nonce uint64
	State State
	// Bootstrap says that the sender, too, may start a new council.
	Bootstrap bool
	// Highest is the highest term or floor that the sender knows of, in any group.
	Highest uint64
	Epoch   uint64
	Digest  [32]byte // of members and quorum system
	// Longest is the longest promise that was ever in force, as far as the sender knows.
	Longest time.Duration
	// Lock is the longest lock of a local group that was, as far as the sender knows.
	Lock time.Duration
	// Heard is the last life of the asker that the sender has heard. Its tag is zero if the sender does not know it.
	Heard protocol.Life
	// Silent is for how long the sender has heard nothing of that life.
	Silent time.Duration
	// Sender is the sender's own life, as in Recover.
	Sender protocol.Life
	// Promised bounds how long promises stand that the sender makes, for the leases that it knows programs of any member want.
	Promised time.Duration
}

// State is how far a member has got in its start.
type State uint8

const (
	Lost   State = iota // it has no record and does not know yet what it forgot
	Fresh               // it has no record, and may start a new council if all others are fresh too
	Asks                // it has a record that is an old copy, and does not know yet what is missing in it
	Begun               // it started the council, and has not been restarted since
	Speaks              // it knows who it is
)

// Stale tells a member that the sender has heard a later life of it: what the member takes for its record is an old copy. The
// member believes it only by its own tag in Heard.
type Stale struct{ Heard protocol.Life }

// Outdated is no message of a member: the layer below makes one for a packet that it drops because its sender has a later life, or
// another one under the same incarnation.
type Outdated struct{}

// Died is no message of a member: the layer below makes one for each report of a guardian that it has authenticated, as if the dead member
// itself had sent it.
type Died struct{ obituary.Report }

// Handover names the receiver as the sender's successor. It comes after the sender has stepped down.
type Handover struct {
	Group protocol.Group
	Term  uint64 // of the release that the successor may carry
	Asked bool   // the sender gave the group up for the receiver's sake
}

// Verify asks the receiver whether it leads, and to stay for Length of real time if it can.
type Verify struct {
	Nonce  uint64
	Group  protocol.Group
	Length time.Duration
}

// Remainder answers Verify: the sender leads for Delta of real time from when it sent this; not at all if it is zero.
type Remainder struct {
	Nonce uint64
	Delta time.Duration
	Term  uint64
	// Version and Text are of the value that the sender announces; zero if there is none.
	Version uint64
	Text    string
}

// Values brings the values of the sender's leaderships to a member that has acknowledged them. It is repeated until Noted.
type Values struct {
	Seq    uint64
	Values []Value
}

// A Value is what the sender announces with its leadership of one group.
type Value struct {
	Group          protocol.Group
	Token, Version uint64
	Text           string
}

// Who asks who leads the group.
type Who struct {
	Nonce uint64
	Group protocol.Group
}

// Leads answers Who, with NoIdent if the sender knows of nobody.
type Leads struct {
	Nonce  uint64
	Leader protocol.Ident
	Term   uint64
}

// Candidates tells the holder of groups, which has been told otherwise before, for which of them the sender has a
// candidate and for which it has none. It is repeated until Noted.
type Candidates struct {
	Seq     uint64
	Yes, No []protocol.Group
	// Joined are those of Yes whose candidates have begun since, or of a member that was undrained.
	Joined []protocol.Group
}

// Noted answers Candidates and Values, which are numbered together.
type Noted struct{ Seq uint64 }

// Name says nerio.Recover.
func (*Recover) Name() string { return "nerio.Recover" }

// Name says nerio.Known.
func (*Known) Name() string { return "nerio.Known" }

// Name says nerio.Stale.
func (*Stale) Name() string { return "nerio.Stale" }

// Name says nerio.Outdated.
func (*Outdated) Name() string { return "nerio.Outdated" }

// Name says nerio.Died.
func (*Died) Name() string { return "nerio.Died" }

// Name says nerio.Handover.
func (*Handover) Name() string { return "nerio.Handover" }

// Name says nerio.Verify.
func (*Verify) Name() string { return "nerio.Verify" }

// Name says nerio.Remainder.
func (*Remainder) Name() string { return "nerio.Remainder" }

// Name says nerio.Who.
func (*Who) Name() string { return "nerio.Who" }

// Name says nerio.Leads.
func (*Leads) Name() string { return "nerio.Leads" }

// Name says nerio.Candidates.
func (*Candidates) Name() string { return "nerio.Candidates" }

// Name says nerio.Values.
func (*Values) Name() string { return "nerio.Values" }

// Name says nerio.Noted.
func (*Noted) Name() string { return "nerio.Noted" }

// Copy returns an independent copy.
func (m *Recover) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Known) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Stale) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Outdated) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Died) Copy() protocol.Message {
	c := *m
	c.Kept = slices.Clone(m.Kept)
	return &c
}

// Copy returns an independent copy.
func (m *Handover) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Verify) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Remainder) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Who) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Leads) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Candidates) Copy() protocol.Message {
	c := *m
	c.Yes, c.No, c.Joined = slices.Clone(m.Yes), slices.Clone(m.No), slices.Clone(m.Joined)
	return &c
}

// Copy returns an independent copy.
func (m *Values) Copy() protocol.Message {
	c := *m
	c.Values = slices.Clone(m.Values)
	return &c
}

// Copy returns an independent copy.
func (m *Noted) Copy() protocol.Message { c := *m; return &c }
