package run

import (
	"context"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
)

// An Agent is a connection to the agent of this host.
type Agent interface {
	// Terms says what the council's leases are like.
	Terms() Terms
	// Campaign waits until this host leads the group on behalf of the program that is about to be started. From then on
	// the agent kills the tree when its runner has died, guard before a lease ends that was not renewed, or when the
	// tree has not ended grace after it was asked to.
	Campaign(ctx context.Context, group string, t tree.Ref, grace, guard time.Duration) (Lease, error)
	// Watch calls f with who leads the group, as far as the agent knows, and why; empty if nobody does. It does so again
	// with every change, until ctx ends.
	Watch(ctx context.Context, group string, f func(leader, why string)) error
	// Gone is closed when there is no agent at the other end any more.
	Gone() <-chan struct{}
	Close() error
}

// Terms is what the leases of a council are like.
type Terms struct {
	// Member is the name of this host's member, and Socket where its agent listens.
	Member, Socket string
	// Lease, Renew, RoundTrip and Guard are as in regent.Timing.
	Lease, Renew, RoundTrip, Guard time.Duration
	// Priority is the member's.
	Priority int
}

// A Lease is one leadership. The methods but Stopped do not wait.
type Lease interface {
	Token() uint64
	// Remaining is for how long the lease runs on if it is not renewed again, by the clock that leases run on.
	Remaining() time.Duration
	// Done is closed when the program must stop; Cause says why.
	Done() <-chan struct{}
	Cause() string
	// Healed has an element when a member of the council has come back that was down or cut off.
	Healed() <-chan struct{}
	// Stopped says that the tree is gone, and returns when the group was given up.
	Stopped(ctx context.Context) error
}
