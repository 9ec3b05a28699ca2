package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/why"
)

// A handle is one leadership of any mode, as the process of its program holds it. There are two: hosted, at a member of this very process, and
// [session.Lease], at the agent. What a mode does not have returns nothing, or an error.
type handle interface {
	Group() string
	// Member is the name of the member that leads.
	Member() string
	// Token is zero in local groups, and on an engine that offers no tokens.
	Token() uint64
	Valid() bool
	Remaining() time.Duration
	// Guarded says whether the guard time before the end has not begun, by the clock.
	Guarded() bool
	// Done is closed when the program must stop; OnDone has a function called then, once; Cause says why, and is zero before.
	Done() <-chan struct{}
	OnDone(f func())
	Cause() Cause
	// Resign says that the program has stopped.
	Resign(ctx context.Context) error

	// These are of quorum groups. Transfer says that the program has stopped, and hands the group over. It says whether that was begun.
	Edict(ctx context.Context) (stamp.Edict, error)
	Announce(ctx context.Context, value string) error
	Transfer(ctx context.Context, to string) (begun bool, err error)
	CanTransfer(ctx context.Context, to string) error

	// Support is of local groups.
	Support(ctx context.Context) ([]string, error)

	// These are of consistent groups. First is the agreement that took the member in.
	First() View
	Views(ctx context.Context) iter.Seq[View]
	Recovered(ctx context.Context, token, number uint64) error
}

// leadership is what leases of all modes and memberships have in common.
type leadership struct {
	handle   handle
	resigned atomic.Bool
	// continued says that the next leadership takes over from this one when it is lost, without the group being given up in between.
	continued bool
}

// Group returns the name of the group that is led, or that the member is in.
func (l *leadership) Group() string { return l.handle.Group() }

// Valid says whether the lease ran, or the member was in its consistent group, at an instant during the call. By the time that the answer is used
// it may be over: for what must not be done twice take an [Edict], and let the receiver judge.
func (l *leadership) Valid() bool { return l.handle.Valid() }

// Remaining returns for how long that goes on if it is not renewed; zero once it is over.
func (l *leadership) Remaining() time.Duration { return l.handle.Remaining() }

// Done is closed when the program must stop: [Timing.Guard] before the end if no renewal came, because another member is to lead, or because the member
// was asked to give the group up. Then the program stops, and says so with Resign. Until it does, the lease
// is renewed if it can be, for at most [Config.StopWithin], so that nobody else leads under it. After a suspend of the host, or while
// the clock is at fault, the lease is over at once and is not renewed.
func (l *leadership) Done() <-chan struct{} { return l.handle.Done() }

// Cause says why the program must stop; it is zero before Done is closed.
func (l *leadership) Cause() Cause { return l.handle.Cause() }

// Resign says that the program has stopped, and gives the group up: when it returns nil this member no longer leads it, or is no longer in it,
// and another may. It does nothing if the lease is over.
func (l *leadership) Resign(ctx context.Context) error {
	l.resigned.Store(true)
	return l.handle.Resign(ctx)
}

func (l *leadership) common() *leadership { return l }

// led is a lease of any mode, or a membership.
type led interface{ common() *leadership }

// lead campaigns and calls f, again after each loss.
func lead[L led](ctx context.Context, campaign func(context.Context) (L, error), f func(context.Context, L) error, gone func() bool) error {
	for {
		l, err := campaign(ctx)
		var lost bool
		if err == nil {
			lost, err = leadOnce(ctx, l, f)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case !lost:
			return err
		case gone():
			return ErrClosed
		}
	}
}

// leadOnce runs f once. It says whether the leadership was lost before f returned.
func leadOnce[L led](ctx context.Context, l L, f func(context.Context, L) error) (lost bool, err error) {
	c := l.common()
	within, cancel := leadingContext(ctx, c.handle)
	// f has stopped even if it panics: then the group is free before the program dies, if it does.
	defer func() {
		if !lost || !c.continued || ctx.Err() != nil {
			_ = c.Resign(context.WithoutCancel(ctx))
		}
	}()
	defer cancel(nil)
	err = f(within, l)
	return !c.resigned.Load() && mustStop(within, c.handle), err
}

// mustStopFor is the cause of a leading function's context when the function must stop: it wraps why.
func mustStopFor(h handle, why Cause) error {
	return fmt.Errorf("must stop leading %s: %w", h.Group(), why)
}

// leadingContext returns a context that ends with ctx or when the program must stop.
func leadingContext(ctx context.Context, h handle) (context.Context, context.CancelCauseFunc) {
	within, cancel := context.WithCancelCause(ctx)
	h.OnDone(func() { cancel(mustStopFor(h, h.Cause())) })
	return &leading{Context: within, handle: h, cancel: cancel}, cancel
}

// mustStop says whether a leading function that has returned had to. A program that was stopped past its lease may find out, and
// return, before the member itself has run again: so the clock is asked. The clock may have ended its context before,
// and the lease have been renewed since: so the context is asked, too.
func mustStop(within context.Context, h handle) bool {
	var why Cause
	return !h.Guarded() || errors.As(context.Cause(within), &why)
}

// leading is the context of a leading function. Its Err asks the clock as well: a program that wakes up from a long
// pause and looks finds it ended at once, even if nothing else has run since.
type leading struct {
	context.Context
	handle handle
	cancel context.CancelCauseFunc
}

func (c *leading) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !c.handle.Guarded() {
		cause := c.handle.Cause()
		if cause == (Cause{}) { // the member itself has not noticed yet
			cause = Cause{Why: why.LeaseExpired, Member: c.handle.Member()}
		}
		c.cancel(mustStopFor(c.handle, cause))
	}
	return c.Context.Err()
}
