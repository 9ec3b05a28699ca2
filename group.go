package regent

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// A Group is an election: at every instant at most one program, at one member of the council, leads it. Any name is a
// group, without being set up anywhere; all groups of a council share its packets, so that ten thousand idle groups
// cost what one does.
type Group struct{ election election }

// Name returns the name of the group.
func (g *Group) Name() string { return g.election.name() }

// Lead campaigns and calls f while this program leads, again after each loss, until ctx ends or f returns while it
// still leads.
//
// The context of f ends when f must stop: when ctx ends, or [Timing.Guard] before the lease does if it was not renewed.
// Nobody else leads before f has returned, unless the lease has run out by then: then f was paused for longer than the
// lease, or does not watch its context, and the network was down as well. What f does to the outside must bear the
// stamp or the token of its lease, so that the receiver can refuse what comes too late (package fence).
//
// When f returns by itself, while it leads, the group is given up and Lead returns what f returned. When ctx has ended
// Lead returns the cause, after f has returned and the group was given up.
func (g *Group) Lead(ctx context.Context, f func(ctx context.Context, l *Lease) error) error {
	return lead(ctx, g.Campaign, f, g.election.gone)
}

// A leasehold is a lease of any mode, as far as a leading function is concerned.
type leasehold interface {
	held() (h holding, resigned *atomic.Bool)
	Resign(ctx context.Context) error
}

// lead campaigns and calls f, again after each loss.
func lead[L leasehold](ctx context.Context, campaign func(context.Context) (L, error), f func(context.Context, L) error, gone func() bool) error {
	for {
		l, err := campaign(ctx)
		if err != nil {
			return err
		}
		lost, err := leadOnce(ctx, l, f)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !lost:
			return err
		case gone():
			return ErrClosed
		}
	}
}

// leadOnce runs f once. It says whether the leadership was lost before f returned.
func leadOnce[L leasehold](ctx context.Context, l L, f func(context.Context, L) error) (lost bool, err error) {
	h, resigned := l.held()
	within, cancel := leadingContext(ctx, h)
	// f has stopped even if it panics: then the group is free before the program dies, if it does.
	defer func() { _ = l.Resign(context.WithoutCancel(ctx)) }()
	defer cancel(nil)
	err = f(within, l)
	return !resigned.Load() && mustStop(within, h), err
}

// Campaign waits until this program leads the group, and returns its lease. The lease renews itself until
// [Lease.Resign], or until it is lost. Several programs of one member take turns, in the order in which they asked.
func (g *Group) Campaign(ctx context.Context) (*Lease, error) {
	t, err := g.election.campaign(ctx)
	if err != nil {
		return nil, err
	}
	return &Lease{tenure: t}, nil
}

// Leader returns the name of the member that leads the group, empty if none does as far as this member knows. It does
// not wait.
func (g *Group) Leader() string { return g.View().Leader }

// View returns what this member believes now. It does not wait.
func (g *Group) View() View { return g.election.view() }

// Watch yields the present view and then every change, "no leader" among them, until ctx ends or the member is closed. A
// watcher that is slow gets the latest views and is told how many it missed.
func (g *Group) Watch(ctx context.Context) iter.Seq[View] { return g.election.watch(ctx) }

// A Proof says that a member led a group, or leads it still: it was said by the leader itself, which will not let itself
// be replaced before the proof is over.
type Proof struct {
	// Leader is the name of the member, and Token its token.
	Leader string
	Token  uint64
	// Until is the instant of this member's clock before which the proof holds.
	Until Instant
	now   func() Instant
}

// Valid says whether the proof still holds.
func (p *Proof) Valid() bool { return p.now() < p.Until }

// ErrNoLeader says that nobody could be proven to lead.
var ErrNoLeader = errors.New("no leader")

// Verify asks the leader of the group whether it leads. The proof holds for about a round trip. The error wraps
// [ErrNoLeader] if nobody is known to lead, or who should lead does not say so.
func (g *Group) Verify(ctx context.Context) (*Proof, error) { return g.election.verify(ctx) }

// gone says whether the member is closed.
func (m *Member) gone() bool {
	select {
	case <-m.loop.Ended():
		return true
	default:
		return false
	}
}
