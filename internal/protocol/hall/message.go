package hall

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// An Election asks everybody for support. It is broadcast, to oneself too. With a tree it reaches the nodes of the tree as a Relay
// instead.
type Election struct {
	// Request numbers the requests of one incarnation of the sender.
	Request uint64
	// Alive are the members that the sender has heard lately. Nodes are those that make its tree; all others answer directly.
	Alive, Nodes protocol.Set
	// Support is the logical partition that the sender leads; empty if it does not lead.
	Support protocol.Set
	// Rotation is by how much ranks are turned; zero unless leaders rotate.
	Rotation uint64
}

// A Relay is an Election on its way down the tree. The nodes send it on to their children in the Step that received it.
type Relay struct {
	// Root is the member, in its incarnation, that asks.
	Root protocol.Ident
	// Age bounds the real time from when the root sent the Election to when this message was sent: the sum of the bounds of
	// the hops before.
	Age      time.Duration
	Election Election
}

// A Reply answers an Election. It is sent in the Step that received it, so that what is proven about its delay counts from
// there. With a reply tree it speaks for several members and may have been on its way for longer.
type Reply struct {
	Request uint64
	// Root is whose request it is.
	Root protocol.Rank
	// Yes are those that support it, No those that do not.
	Yes, No protocol.Set
	// Age bounds the real time from when the first of them received the Election to when this message was sent.
	Age      time.Duration
	Rotation uint64
}

// A Release gives back every lock that any request of its sender up to Request has taken.
type Release struct {
	Request  uint64
	Rotation uint64
}

// An Ack says that a Reply on its way up the tree was taken over.
type Ack struct {
	Root    protocol.Rank
	Request uint64
}

// Name says hall.Election.
func (*Election) Name() string { return "hall.Election" }

// Name says hall.Relay.
func (*Relay) Name() string { return "hall.Relay" }

// Name says hall.Reply.
func (*Reply) Name() string { return "hall.Reply" }

// Name says hall.Release.
func (*Release) Name() string { return "hall.Release" }

// Name says hall.Ack.
func (*Ack) Name() string { return "hall.Ack" }

// Copy returns an independent copy.
func (m *Election) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Relay) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Reply) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Release) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Ack) Copy() protocol.Message { c := *m; return &c }
