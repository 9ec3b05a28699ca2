package rain

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
)

// A Kind is what a member is asked about: a loss or a return.
type Kind uint8

const (
	Dn Kind = iota // it was lost
	Up             // it was regained
)

var kinds = [...]string{"dn", "up"}

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Topic is what a Cand, an Accept and a Cancel are about.
type Topic struct {
	Group protocol.Group
	// Number is that of the sender's view: in another one it means nothing.
	Number Number
	Kind   Kind
	About  protocol.Rank
	// Attempt tells one candidacy from a later one on the same matter.
	Attempt uint64
}

// Cand asks the receiver to confirm that About was lost or regained.
type Cand struct {
	link.Header
	Topic
}

// Accept confirms it to who asked by Attempt.
type Accept struct {
	link.Header
	Topic
}

// Cancel takes back what the sender said about About, be it a Cand or an Accept.
type Cancel struct {
	link.Header
	Topic
}

// Install is a manager's decision.
type Install struct {
	link.Header
	Group protocol.Group
	View  View
}

// Installed says that the sender has the view, on its disk if it has one, and has it since a time when its configuration was Epoch.
type Installed struct {
	link.Header
	Group  protocol.Group
	Number Number
	Epoch  uint64
}

// Ask gives the number of the sender's configuration, and asks for all views that the receiver has in the same one. It is the first
// thing that a member sends after it has adopted a configuration.
type Ask struct {
	link.Header
	Number uint64
	Nonce  uint64
}

// Told answers Ask: the views of the sender have been sent before it.
type Told struct {
	link.Header
	Number uint64
	Nonce  uint64
	// Known says that the sender has forgotten no view, Settled that it has settled in the configuration with Number.
	Known, Settled bool
}

// Phase is where a member stands in a group.
type Phase uint8

const (
	Out      Phase = iota // its program takes no part
	Stopping              // dead, and its program has not stopped yet
	Joining               // dead, and ready to be taken in
	Alive                 // a member
)

var phases = [...]string{"out", "stopping", "joining", "alive"}

func (p Phase) String() string {
	if int(p) < len(phases) {
		return phases[p]
	}
	return "unknown"
}

// State says where the sender stands. It is the first thing said in every session, and said again after every change.
type State struct {
	link.Header
	Group protocol.Group
	Phase Phase
	View  View
	// Reported is the last view that programs received as far as the sender knows, Recovered the last of which what was lost
	// is recovered.
	Reported, Recovered Number
}

// Links says which of the sender's links broke and do not work again yet. It is said after every change; in a new session there are none
// until it is said.
type Links struct {
	link.Header
	Group  protocol.Group
	Broken protocol.Set
}

// Query asks for the receiver's view, on behalf of the lease with Token.
type Query struct {
	link.Header
	Group protocol.Group
	Token uint64
}

// Answer answers it. A member that may have forgotten its view does not say Known.
type Answer struct {
	link.Header
	Group protocol.Group
	Token uint64
	Known bool
	View  View
	// Epoch is the number of the sender's configuration, and Settled says that it has settled in it.
	Epoch   uint64
	Settled bool
}

// Stay asks whether the sender is still a member of the receiver's view. It travels outside of sessions: a late one is worth nothing.
type Stay struct {
	Group protocol.Group
	// Inc is the sender's incarnation and At its clock, both to be returned.
	Inc protocol.Inc
	At  protocol.Time
	// Epoch is the number of its configuration. A receiver in another one does not answer.
	Epoch uint64
}

// Stays says that it is.
type Stays struct {
	Group protocol.Group
	Inc   protocol.Inc
	At    protocol.Time
}

// Copy returns a Cand of its own, and so on.
func (m *Cand) Copy() protocol.Message      { c := *m; return &c }
func (m *Accept) Copy() protocol.Message    { c := *m; return &c }
func (m *Cancel) Copy() protocol.Message    { c := *m; return &c }
func (m *Install) Copy() protocol.Message   { c := *m; return &c }
func (m *Installed) Copy() protocol.Message { c := *m; return &c }
func (m *State) Copy() protocol.Message     { c := *m; return &c }
func (m *Links) Copy() protocol.Message     { c := *m; return &c }
func (m *Query) Copy() protocol.Message     { c := *m; return &c }
func (m *Answer) Copy() protocol.Message    { c := *m; return &c }
func (m *Stay) Copy() protocol.Message      { c := *m; return &c }
func (m *Stays) Copy() protocol.Message     { c := *m; return &c }

// Copy returns an Ask of its own.
func (m *Ask) Copy() protocol.Message { c := *m; return &c }

// Copy returns a Told of its own.
func (m *Told) Copy() protocol.Message { c := *m; return &c }

// Name returns rain.Ask.
func (*Ask) Name() string { return "rain.Ask" }

// Name returns rain.Told.
func (*Told) Name() string { return "rain.Told" }

// Name returns rain.Cand, and so on.
func (*Cand) Name() string      { return "rain.Cand" }
func (*Accept) Name() string    { return "rain.Accept" }
func (*Cancel) Name() string    { return "rain.Cancel" }
func (*Install) Name() string   { return "rain.Install" }
func (*Installed) Name() string { return "rain.Installed" }
func (*State) Name() string     { return "rain.State" }
func (*Links) Name() string     { return "rain.Links" }
func (*Query) Name() string     { return "rain.Query" }
func (*Answer) Name() string    { return "rain.Answer" }
func (*Stay) Name() string      { return "rain.Stay" }
func (*Stays) Name() string     { return "rain.Stays" }
