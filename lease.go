package regent

import (
	"context"
	"fmt"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/stamp"
)

// ErrNotLeader says that the lease is over.
var ErrNotLeader = stamp.ErrNotLeader

// An Edict is the stamp of an order: orders bear the stamps of their leaders, and a receiver refuses one
// that is older than what it has seen. See package fence.
type Edict = fence.Stamp

// A Lease is one leadership of one program. It renews itself; it ends when the program says so, or is lost when too few
// members answer in time. A lease that is over never comes back.
//
// All methods may be called from any goroutine. Valid, Remaining and Token take no lock and do not wait. Neither does Edict at a [Member]; at a
// [Client] it asks the agent.
type Lease struct{ leadership }

// Token is a number that all orders of this leadership share and that grows with every leadership of the group. A store
// that refuses a lower one than it has seen cannot be written to by two leaders in turn. It is zero on an engine that offers no tokens, whose status lacks Fences.
func (l *Lease) Token() uint64 { return l.handle.Token() }

// Announce changes the value that this leadership bears ([Group.Announcing]); empty takes it back. It does not wait until other members have
// learnt it. Of several within a quarter of [Timing.RoundTrip] the last one counts. It fails with [ErrNotLeader] once the lease is over.
func (l *Lease) Announce(ctx context.Context, value string) error {
	if err := session.CheckValue(value); err != nil {
		return err
	}
	return l.handle.Announce(ctx, value)
}

// Edict stamps an order that is made now. It fails with [ErrNotLeader] once the lease is over. Stamps are ordered as the
// orders were made, across all leaders of the group. At a [Member] it does not wait, and ctx does not matter. At a [Client] it asks the agent: it
// fails with the cause of ctx if that ends first, and with ErrNotLeader if the lease does or if the agent is gone. On an engine whose tokens cannot be
// compared it fails with an error that wraps [engine.ErrUnsupported]; such an engine names "tokens for fences" in its status as missing.
func (l *Lease) Edict(ctx context.Context) (Edict, error) {
	e, err := l.handle.Edict(ctx)
	if err != nil {
		return Edict{}, err
	}
	return fence.Of(e), nil
}

// Transfer says that the program has stopped, and hands the group over to another member, where a program must be
// campaigning. It returns nil once that member leads. If the handover was refused, because nobody campaigns there, this
// program still leads, and Valid says so; if it was begun and another member came first the error names it.
func (l *Lease) Transfer(ctx context.Context, to string) error {
	begun, err := l.handle.Transfer(ctx, to)
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
	if err := l.handle.CanTransfer(ctx, to); err != nil {
		return fmt.Errorf("transfer of %s to %s: %w", l.Group(), to, err)
	}
	return nil
}
