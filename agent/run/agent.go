package run

import (
	"context"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// An Agent is a connection to the agent of this host.
type Agent interface {
	// Terms says what the council's leases are like.
	Terms() Terms
	// Clock is what the instants of notices are on.
	Clock() clock.Clock
	// Campaign begins a candidacy. Take gets what the agent sends, in order; it must not wait. The agent kills the tree that c claims c.Guard before a
	// lease ends that was not renewed, when the tree has not ended c.Grace after the agent asked for that, and when the runner has died.
	Campaign(c session.Candidate, take func(Notice)) (Upper, error)
	// Explain returns a cause for people.
	Explain(c protocol.Cause) string
	// Watch calls f with who leads the group, as far as the agent knows, and why; empty if nobody does. It does so again
	// with every change, until ctx ends.
	Watch(ctx context.Context, group string, f func(leader, why string)) error
	// Gone is closed when there is no agent at the other end any more.
	Gone() <-chan struct{}
	Close() error
}

// Terms is what the leases of a council are like.
type Terms struct {
	// Member is the name of this host's member, Self its rank in causes, and Socket where its agent listens.
	Member, Socket string
	Self           protocol.Rank
	// Lease and Guard are as in regent.Timing. A group may have leases of another length: Notice.Lease.
	Lease, Guard time.Duration
	// Priority is the member's.
	Priority int
	// Ordinary says that the configuration allows no real-time threads.
	Ordinary bool
}

// A Notice is one thing that the agent sends about a candidacy: an event of the upper side (Elected, Extended, Stop, Lost,
// UpperGone), that it is accepted, or that a member is back that was down or cut off.
type Notice struct {
	tenure.Event
	Healed bool
	// Lease is the length of the leases of the candidacy, which the agent sends when it accepts one; zero in all other notices.
	Lease time.Duration
	// NoToken, of Elected, says that the leadership has no token: what the event has for one only tells it from others.
	NoToken bool
	// Err is of Lost: why the agent refused the candidacy.
	Err error
}

// An Upper is the agent's side of one tenure. Its methods do not wait for an answer.
type Upper interface {
	// Started reports the first process of the tree, before it execs.
	Started(first int)
	// Stopped reports that the tree is gone and that the lost hooks have run.
	Stopped(cause protocol.Cause)
	// Freeze reports an end under which something may still act, or a cause that was corrected after the end.
	Freeze(cause protocol.Cause)
	// Shown returns the deadline that the agent shows on its page, and whether it does. Extended does not come then.
	Shown() (until protocol.Time, shown bool)
	// Duplicates reports the hardware addresses of other hosts that have addresses of the tree as well, by address.
	Duplicates(all map[string]string)
	// Leave has no more notices taken. Causes may be corrected until then.
	Leave()
	// Unread says that notices were received and not taken yet.
	Unread() bool
}
