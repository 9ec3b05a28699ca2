package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure"
)

// A Lease is one program's tenure of a group.
type Lease struct {
	group  *Group
	tenure *stamp.Tenure
	number uint64 // that the machine gave the tenure
	// done is closed when the program must stop; cause says why, and is set before.
	done  chan struct{}
	cause atomic.Pointer[protocol.Cause]
	// support is who backs it, in the domain Local.
	support atomic.Pointer[protocol.Set]
	// onDone is called then, if it is set.
	onDone atomic.Pointer[func()]
	// over is closed when the member no longer leads in this tenure.
	over chan struct{}
	// recoveries are those of a membership of a consistent group.
	recoveries recoveries
	// values spaces those that its program announces.
	values values

	// The rest is the loop's own.

	life *tenure.Machine
	// horizon is what moves its end, and until caps it. Without a horizon nothing moves it any more.
	horizon *horizon
	until   protocol.Time
	// list is where its machine is woken, and index its place there.
	list  *[]*Lease
	index int
	// shared says that it is a membership of a consistent group, which others have as well.
	shared bool
	// question is the number of the transfer that was asked for last.
	question uint64
}

// Done is closed when the program must stop: the guard time before the end of the lease was reached, or the member was
// asked to give the group up.
func (l *Lease) Done() <-chan struct{} { return l.done }

// OnDone has f called, on a goroutine of its own, when the program must stop; at once if it must already. It may be set
// once. It is for those who would otherwise need a goroutine for each of many leases.
func (l *Lease) OnDone(f func()) {
	once := sync.OnceFunc(f)
	l.onDone.Store(&once)
	select {
	case <-l.done:
		go once()
	default:
	}
}

// isAsked says whether Done is closed.
func (l *Lease) isAsked() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Over is closed when the member no longer leads in this tenure.
func (l *Lease) Over() <-chan struct{} { return l.over }

// Cause says why the program must stop, or must have; nil before Done.
func (l *Lease) Cause() *protocol.Cause { return l.cause.Load() }

// Support returns who backs the lease, in the domain Local.
func (l *Lease) Support() protocol.Set {
	if s := l.support.Load(); s != nil {
		return *s
	}
	return protocol.Set{}
}

// Group returns the group that is led.
func (l *Lease) Group() *Group { return l.group }

// Token is the term of the tenure.
func (l *Lease) Token() uint64 { return l.tenure.Token() }

// Valid says whether the lease ran at an instant during the call.
func (l *Lease) Valid() bool { return l.tenure.Valid(l.group.table.clock) }

// Guarded says whether the guard time before the end of the lease had not begun at an instant during the call. It is
// the reader's side of Done: it holds even if the loop has not run for a while.
func (l *Lease) Guarded() bool {
	return !l.isAsked() && l.tenure.Remaining(l.group.table.clock) > l.group.table.guard
}

// Until returns the end of the lease as it stands, on the member's clock.
func (l *Lease) Until() protocol.Time { return protocol.Time(l.tenure.Until()) }

// Remaining returns how long the lease runs on if it is not renewed; zero once it is over.
func (l *Lease) Remaining() time.Duration { return l.tenure.Remaining(l.group.table.clock) }

// Edict stamps an order, or says that the lease is over.
func (l *Lease) Edict() (stamp.Edict, error) { return l.tenure.Edict(l.group.table.clock) }

// Announce sets the value that the leadership bears from now on, or once the interval since the last one is over. Once the lease is over it does nothing.
func (l *Lease) Announce(value string, interval time.Duration) error {
	t := l.group.table
	return l.values.put(value, interval, func(value string) error {
		return t.loop.Do(func(protocol.Time) {
			t.post(protocol.Announce{Group: l.group.Name, Tenure: l.number, Value: value})
		})
	})
}

// Resign reports that the program has stopped, and waits until the member no longer leads in this tenure, so that another
// can. Once the lease is over it does nothing.
func (l *Lease) Resign(ctx context.Context) error {
	t := l.group.table
	err := t.loop.Do(func(now protocol.Time) { t.programStopped(now, l) })
	if err == nil {
		select {
		case <-l.over:
		case <-t.loop.Ended():
			err = ErrClosed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if l.isOver() {
		return nil // whatever else has happened since
	}
	return err
}

// Lapse lets the lease run out, because something may still act under it of which nobody knows when it stops. The program is asked to
// stop, if it was not. Resign releases the lease after all.
func (l *Lease) Lapse(cause protocol.Cause) error {
	t := l.group.table
	return t.loop.Do(func(now protocol.Time) {
		t.step(now, l, tenure.Event{Kind: tenure.Freeze, Cause: cause})
		t.step(now, l, tenure.Event{Kind: tenure.ConnectionLost})
	})
}

func (l *Lease) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// Transfer says that the program has stopped and hands the group over to a member. The answer says whether that one
// leads. If it was not even begun, because the machine refused it, nothing has changed.
func (l *Lease) Transfer(ctx context.Context, to protocol.Rank) (a protocol.Answer, begun bool, err error) {
	t := l.group.table
	id, answer := t.question()
	late := make(chan bool, 1)
	err = t.loop.Do(func(now protocol.Time) {
		if tenure.Ignores(l.life.State(), tenure.Yield) {
			late <- true
			return
		}
		l.question = id
		t.step(now, l, tenure.Event{Kind: tenure.Yield, To: to})
		late <- l.life.State() != tenure.Stopped
	})
	if err != nil {
		t.questions.Delete(id)
		return a, false, err
	}
	select {
	case over := <-late:
		if over {
			t.questions.Delete(id)
			return a, false, stamp.ErrNotLeader
		}
	case <-t.loop.Ended():
		return a, false, ErrClosed
	}
	a, err = t.await(ctx, id, answer)
	return a, l.hasStopped(), err
}

// CanTransfer asks whether a Transfer would be begun now.
func (l *Lease) CanTransfer(ctx context.Context, to protocol.Rank) (protocol.Answer, error) {
	if !l.Valid() {
		return protocol.Answer{}, stamp.ErrNotLeader
	}
	return l.group.table.Ask(ctx, func(id uint64) protocol.Event {
		return protocol.Transfer{Group: l.group.Name, To: to, ID: id, Ask: true}
	})
}

// hasStopped ends a transfer that came to nothing, and says whether use was made of it that the program has stopped. It waits for the
// loop, because otherwise the program goes on once it returns.
func (l *Lease) hasStopped() bool {
	t, yes := l.group.table, make(chan bool, 1)
	err := t.loop.Do(func(now protocol.Time) {
		t.step(now, l, tenure.Event{Kind: tenure.Refused})
		yes <- l.life.State() == tenure.Over
	})
	if err == nil {
		select {
		case y := <-yes:
			return y
		case <-t.loop.Ended():
		}
	}
	return l.isOver()
}

// First returns the change with which a membership of a consistent group began, or the oldest of those that are still known.
func (l *Lease) First() *Change {
	changes, _ := l.group.After(0)
	for _, c := range changes {
		if c.Tenure == l.number {
			return c
		}
	}
	return &Change{Group: l.group.Name, Domain: protocol.Consistent, Leader: protocol.NoIdent, Term: l.Token()}
}

// A candidate is a program that waits to lead.
type candidate struct {
	// lease gets the program's lease, once.
	lease chan *Lease
	// refused gets why it cannot wait.
	refused chan error
	given   *Lease        // the loop's own
	length  time.Duration // of the leases that it wants; zero: the council's
	value   string        // with which its leadership begins
}

// Campaign waits until a program here leads the group and returns its lease. Programs take turns in the order in which
// they asked.
func (g *Group) Campaign(ctx context.Context) (*Lease, error) { return g.CampaignFor(ctx, 0, "") }

// CampaignFor is Campaign with leases of the given length; zero: the council's. A program that leads after one that wanted
// another length may get that one's. The error is a [*LengthError] if such leases are not to be had. The leadership begins with the value.
func (g *Group) CampaignFor(ctx context.Context, length time.Duration, value string) (*Lease, error) {
	c := &candidate{lease: make(chan *Lease, 1), refused: make(chan error, 1), length: length, value: value}
	err := g.table.loop.Do(func(now protocol.Time) {
		if err := g.table.enter(now, g, c); err != nil {
			c.refused <- err
		}
	})
	if err != nil {
		return nil, err
	}
	return g.await(ctx, c)
}

// Next says that the program of a membership has stopped, and waits until it may go on in the next one.
func (l *Lease) Next(ctx context.Context) (*Lease, error) {
	g, t := l.group, l.group.table
	c := &candidate{lease: make(chan *Lease, 1), refused: make(chan error, 1)}
	err := t.loop.Do(func(now protocol.Time) {
		t.step(now, l, tenure.Event{Kind: tenure.ProgramStopped})
		if err := t.enter(now, g, c); err != nil {
			c.refused <- err
		}
	})
	if err != nil {
		return nil, err
	}
	return g.await(ctx, c)
}

// await waits for a candidate's lease.
func (g *Group) await(ctx context.Context, c *candidate) (*Lease, error) {
	select {
	case l := <-c.lease:
		return l, nil
	case err := <-c.refused:
		return nil, err
	case <-g.table.loop.Ended():
		return nil, ErrClosed
	case <-ctx.Done():
		// The lease may be on its way: then the program has stopped before it began.
		_ = g.table.loop.Do(func(now protocol.Time) { g.table.leave(now, g, c) })
		return nil, context.Cause(ctx)
	}
}

// ErrTooMany says that a council has as many groups of a kind as it can have.
var ErrTooMany = errors.New("the council has too many groups")

// refuse sends programs away that wait for what will never be.
func (t *GroupTable) refuse(g *Group) {
	for _, c := range g.waiting {
		c.refused <- ErrTooMany
		t.exit()
	}
	g.waiting, g.campaigning = nil, false
}

// A LengthError says why leases of a length are not to be had.
type LengthError struct {
	Length time.Duration
	Why    protocol.Refusal
	// Lengths are those that leave no room for another, if that is why. The council's own is among them.
	Lengths []time.Duration
}

func (e *LengthError) Error() string {
	if len(e.Lengths) == 0 {
		return fmt.Sprintf("lease %v: %v", e.Length, e.Why)
	}
	return fmt.Sprintf("lease %v: a member has leases of at most %d lengths (use one of %v)", e.Length, len(e.Lengths), e.Lengths)
}

// refuseLength sends the programs away that wait for leases of a length that the machine has refused.
func (t *GroupTable) refuseLength(g *Group, a *protocol.Answer) {
	refused := g.length
	g.question = 0
	g.waiting = slices.DeleteFunc(g.waiting, func(c *candidate) bool {
		if c.length != refused {
			return false
		}
		c.refused <- &LengthError{refused, a.Why, a.Lengths}
		t.exit()
		return true
	})
	t.campaign(g) // the machine may still try with the length of before
}
