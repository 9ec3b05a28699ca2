package regent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/why"
)

// ErrNotLeader says that the lease is over.
var ErrNotLeader = stamp.ErrNotLeader

// An Edict is the stamp of an order: orders bear the stamps of their leaders, and whoever receives them refuses one
// that is older than what it has seen. See package fence.
type Edict = fence.Stamp

// A Lease is one leadership of one program. It renews itself; it ends when the program says so, or is lost when too few
// members answer in time. A lease that is over never comes back.
//
// All methods may be called from any goroutine. Valid, Until, Remaining, Token and Edict take no lock and do not wait.
type Lease struct {
	member   *Member
	lease    *runtime.Lease
	resigned atomic.Bool
}

// Group returns the name of the group that is led.
func (l *Lease) Group() string { return string(l.lease.Group().Name) }

// Token is a number that all orders of this leadership share and that grows with every leadership of the group. A store
// that refuses a lower one than it has seen cannot be written to by two leaders in turn.
func (l *Lease) Token() uint64 { return l.lease.Token() }

// Valid says whether the lease ran at an instant during the call. By the time that the answer is used it may be over:
// for what must not be done twice take an [Edict], and let the receiver judge.
func (l *Lease) Valid() bool { return l.lease.Valid() }

// Until returns the end of the lease as it stands, on the clock of this member. It moves with every renewal.
func (l *Lease) Until() Instant { return Instant(l.lease.Until()) }

// Remaining returns for how long the lease runs on if it is not renewed; zero once it is over.
func (l *Lease) Remaining() time.Duration { return l.lease.Remaining() }

// Edict stamps an order that is made now. It fails with [ErrNotLeader] once the lease is over. Stamps are ordered as the
// orders were made, across all leaders of the group.
func (l *Lease) Edict() (Edict, error) {
	e, err := l.lease.Edict()
	if err != nil {
		return Edict{}, err
	}
	return fence.Of(e), nil
}

// Done is closed when the program must stop: [Timing.Guard] before the end of the lease if no renewal came, or because
// the member was asked to give the group up. Then the program stops, and says so with Resign; until it does, the lease
// is renewed if it can be, so that nobody else leads under it.
func (l *Lease) Done() <-chan struct{} { return l.lease.Told() }

// Cause says why the program must stop; it is zero before Done is closed.
func (l *Lease) Cause() Cause {
	c := l.lease.Cause()
	if c == nil {
		return Cause{}
	}
	return l.member.cause(*c)
}

// Resign says that the program has stopped, and gives the group up: when it returns nil this member no longer leads it,
// and another may. It does nothing if the lease is over.
func (l *Lease) Resign(ctx context.Context) error {
	l.resigned.Store(true)
	return l.member.explain(l.lease.Stopped(ctx))
}

// Transfer says that the program has stopped, and hands the group over to another member, where a program must be
// campaigning. It returns nil once that member leads. If the handover was refused, because nobody campaigns there, this
// program still leads, and Valid says so; if it was begun and somebody else came first the error names who.
func (l *Lease) Transfer(ctx context.Context, to string) error {
	rank, ok := l.member.council.rank(to)
	if !ok {
		return fmt.Errorf("transfer of %s: no member %q in the council", l.Group(), to)
	}
	a, begun, err := l.lease.Transfer(ctx, rank)
	switch {
	case err != nil:
		return fmt.Errorf("transfer of %s to %s: %w", l.Group(), to, l.member.explain(err))
	case a.OK:
		l.resigned.Store(true)
		return nil
	case !begun:
		return fmt.Errorf("transfer of %s to %s: refused: no program campaigns for it there", l.Group(), to)
	}
	l.resigned.Store(true)
	if now := l.member.council.name(a.Leader.Rank); now != "" {
		return fmt.Errorf("transfer of %s to %s: %s leads instead", l.Group(), to, now)
	}
	return fmt.Errorf("transfer of %s to %s: given up, but %s has not taken it yet", l.Group(), to, to)
}

// A DoneError is the cause of a leading function's context when the function must stop. Its Cause says why.
type DoneError struct {
	Group string
	Cause Cause
}

// Error says why the program must stop.
func (e *DoneError) Error() string { return fmt.Sprintf("must stop leading %s: %v", e.Group, e.Cause) }

// context returns a context that ends with ctx or when the program must stop.
func (l *Lease) context(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	within, cancel := context.WithCancelCause(ctx)
	l.lease.OnTold(func() { cancel(&DoneError{Group: l.Group(), Cause: l.Cause()}) })
	return &leading{Context: within, lease: l, cancel: cancel}, cancel
}

// leading is the context of a leading function. Its Err asks the clock as well: a program that wakes up from a long
// pause and looks is told at once, even if nothing else has run since.
type leading struct {
	context.Context
	lease  *Lease
	cancel context.CancelCauseFunc
}

func (c *leading) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !c.lease.lease.Guarded() {
		cause := c.lease.Cause()
		if cause == (Cause{}) { // the member itself has not noticed yet
			cause = Cause{Why: why.LeaseExpired, Member: c.lease.member.Name()}
		}
		c.cancel(&DoneError{Group: c.lease.Group(), Cause: cause})
	}
	return c.Context.Err()
}
