package tenant

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Engine is the rank of the engine, and Self that of the member.
const (
	Self   protocol.Rank = 0
	Engine protocol.Rank = protocol.Nobody - 1
)

// An Action is what the machine asks of the engine.
type Action uint8

const (
	Try       Action = iota // campaign with a value
	Cancel                  // end the campaign
	Release                 // nothing acts under the leadership any more
	LetRunOut               // renew it no more
	Announce                // change its value
)

// A Request is what the machine asks of the engine.
type Request struct {
	Action Action
	Group  protocol.Group
	Try    uint64
	Value  string
}

// A Report is what the engine has to say about an attempt.
type Report struct {
	Kind  Kind
	Group protocol.Group
	Try   uint64
	// Token and Until count in Won, Until also in Moved.
	Token uint64
	Until protocol.Time
}

// A Kind is what a Report is about.
type Kind uint8

const (
	Won    Kind = iota
	Moved       // the end of the lease is later
	Lost        // this process leads no more
	Failed      // the campaign has ended
)

// A Sight is what the engine knows of a group.
type Sight struct {
	Group  protocol.Group
	Leader protocol.Rank // Nobody: nobody is known to lead
	Free   bool          // the last leader has given the group up
	Token  uint64
	Length time.Duration
	Value  string
}

func (m *Request) Copy() protocol.Message { c := *m; return &c }
func (m *Report) Copy() protocol.Message  { c := *m; return &c }
func (m *Sight) Copy() protocol.Message   { c := *m; return &c }

func (*Request) Name() string { return "tenant.Request" }
func (*Report) Name() string  { return "tenant.Report" }
func (*Sight) Name() string   { return "tenant.Sight" }
