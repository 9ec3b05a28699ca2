package regent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/session"
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
// All methods may be called from any goroutine. Valid, Remaining, Token and Edict take no lock and do not wait.
type Lease struct {
	tenure   tenure
	resigned atomic.Bool
}

func (l *Lease) held() (holding, *atomic.Bool) { return l.tenure, &l.resigned }

// Group returns the name of the group that is led.
func (l *Lease) Group() string { return l.tenure.group() }

// Token is a number that all orders of this leadership share and that grows with every leadership of the group. A store
// that refuses a lower one than it has seen cannot be written to by two leaders in turn.
func (l *Lease) Token() uint64 { return l.tenure.token() }

// Valid says whether the lease ran at an instant during the call. By the time that the answer is used it may be over:
// for what must not be done twice take an [Edict], and let the receiver judge.
func (l *Lease) Valid() bool { return l.tenure.valid() }

// Remaining returns for how long the lease runs on if it is not renewed; zero once it is over.
func (l *Lease) Remaining() time.Duration { return l.tenure.remaining() }

// Announce changes the value that this leadership bears ([Group.Announcing]); empty takes it back. It does not wait until other members have
// learnt it. It fails with [ErrNotLeader] once the lease is over.
func (l *Lease) Announce(ctx context.Context, value string) error {
	if err := session.CheckValue(value); err != nil {
		return err
	}
	return l.tenure.announce(ctx, value)
}

// Edict stamps an order that is made now. It fails with [ErrNotLeader] once the lease is over. Stamps are ordered as the
// orders were made, across all leaders of the group.
func (l *Lease) Edict() (Edict, error) { return l.tenure.edict() }

// Done is closed when the program must stop: [Timing.Guard] before the end of the lease if no renewal came, or because
// the member was asked to give the group up. Then the program stops, and says so with Resign. Until it does, the lease
// is renewed if it can be, for at most [Config.StopWithin], so that nobody else leads under it. After a suspend of the host, or while
// the clock is at fault, the lease is over at once and is not renewed.
func (l *Lease) Done() <-chan struct{} { return l.tenure.done() }

// Cause says why the program must stop; it is zero before Done is closed.
func (l *Lease) Cause() Cause { return l.tenure.cause() }

// Resign says that the program has stopped, and gives the group up: when it returns nil this member no longer leads it,
// and another may. It does nothing if the lease is over.
func (l *Lease) Resign(ctx context.Context) error {
	l.resigned.Store(true)
	return l.tenure.resign(ctx)
}

// Transfer says that the program has stopped, and hands the group over to another member, where a program must be
// campaigning. It returns nil once that member leads. If the handover was refused, because nobody campaigns there, this
// program still leads, and Valid says so; if it was begun and somebody else came first the error names who.
func (l *Lease) Transfer(ctx context.Context, to string) error {
	begun, err := l.tenure.transfer(ctx, to)
	if begun {
		l.resigned.Store(true)
	}
	if err != nil {
		return fmt.Errorf("transfer of %s to %s: %w", l.Group(), to, err)
	}
	return nil
}

// CanTransfer says why a Transfer would be refused now, or nil. The program need not have stopped, and goes on leading: it is
// for those that would rather know before they stop.
func (l *Lease) CanTransfer(ctx context.Context, to string) error {
	if err := l.tenure.canTransfer(ctx, to); err != nil {
		return fmt.Errorf("transfer of %s to %s: %w", l.Group(), to, err)
	}
	return nil
}

// mustStopFor is the cause of a leading function's context when the function must stop: it wraps why.
func mustStopFor(h holding, why Cause) error {
	return fmt.Errorf("must stop leading %s: %w", h.group(), why)
}

// leadingContext returns a context that ends with ctx or when the program must stop.
func leadingContext(ctx context.Context, h holding) (context.Context, context.CancelCauseFunc) {
	within, cancel := context.WithCancelCause(ctx)
	h.onDone(func() { cancel(mustStopFor(h, h.cause())) })
	return &leading{Context: within, held: h, cancel: cancel}, cancel
}

// mustStop says whether a leading function that has returned had to. A program that was stopped past its lease may find out, and
// return, before the member itself has run again: so the clock is asked. The clock may have told it through its context,
// and the lease have been renewed since: so the context is asked, too.
func mustStop(within context.Context, h holding) bool {
	var why Cause
	return !h.guarded() || errors.As(context.Cause(within), &why)
}

// leading is the context of a leading function. Its Err asks the clock as well: a program that wakes up from a long
// pause and looks is told at once, even if nothing else has run since.
type leading struct {
	context.Context
	held   holding
	cancel context.CancelCauseFunc
}

func (c *leading) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !c.held.guarded() {
		cause := c.held.cause()
		if cause == (Cause{}) { // the member itself has not noticed yet
			cause = Cause{Why: why.LeaseExpired, Member: c.held.holder()}
		}
		c.cancel(mustStopFor(c.held, cause))
	}
	return c.Context.Err()
}
