package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/why"
)

// A Group is an election: at every instant at most one program, at one member of the council, leads it. Any name is a
// group, without being set up anywhere; all groups of a council share its packets, so that ten thousand idle groups
// cost what one does.
type Group struct {
	member *Member
	group  *runtime.Group
}

// Name returns the name of the group.
func (g *Group) Name() string { return string(g.group.Name) }

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
	for {
		l, err := g.Campaign(ctx)
		if err != nil {
			return err
		}
		lost, err := g.lead(ctx, l, f)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !lost:
			return err
		case g.member.gone():
			return ErrClosed
		}
	}
}

// lead runs f once. It says whether the leadership was lost before f returned.
func (g *Group) lead(ctx context.Context, l *Lease, f func(context.Context, *Lease) error) (lost bool, err error) {
	within, cancel := l.context(ctx)
	// f has stopped even if it panics: then the group is free before the program dies, if it does.
	defer func() { _ = l.Resign(context.WithoutCancel(ctx)) }()
	defer cancel(nil)
	err = f(within, l)
	// A program that was stopped past its lease may find out, and return, before the member itself has run again: so the
	// clock is asked, and not only whether the program was told.
	return !l.resigned.Load() && !l.lease.Guarded(), err
}

// Campaign waits until this program leads the group, and returns its lease. The lease renews itself until
// [Lease.Resign], or until it is lost. Several programs of one member take turns, in the order in which they asked.
func (g *Group) Campaign(ctx context.Context) (*Lease, error) {
	if n := len(g.group.Name); n == 0 || n > maxGroup {
		return nil, fmt.Errorf("group %.40q: its name has %d bytes: must have 1 to %d", g.Name(), n, maxGroup)
	}
	l, err := g.group.Campaign(ctx)
	if err != nil {
		return nil, g.member.explain(err)
	}
	return &Lease{member: g.member, lease: l}, nil
}

// maxGroup is the length of the longest name, so that a claim fits a packet with others.
const maxGroup = 255

// Leader returns the name of the member that leads the group, empty if none does as far as this member knows. It does
// not wait.
func (g *Group) Leader() string { return g.View().Leader }

// View returns what this member believes now. It does not wait.
func (g *Group) View() View {
	c := g.group.Latest()
	if c == nil {
		return View{Group: g.Name(), Cause: Cause{Why: why.Started}}
	}
	return g.member.view(c)
}

// Watch yields the present view and then every change, "no leader" among them, until ctx ends or the member is closed. A
// watcher that is slow gets the latest views and is told how many it missed.
func (g *Group) Watch(ctx context.Context) iter.Seq[View] {
	return func(yield func(View) bool) {
		var seen uint64
		first := View{Group: g.Name(), Cause: Cause{Why: why.Started}}
		if c := g.group.Latest(); c != nil {
			seen, first = c.Number, g.member.view(c)
		}
		if !yield(first) {
			return
		}
		for {
			changed := g.group.Changed()
			changes, missed := g.group.After(seen)
			for _, c := range changes {
				v := g.member.view(c)
				if seen == 0 && v.Leader == "" && v.Cause.Why == why.Started {
					seen = c.Number // that nothing is known yet was said
					continue
				}
				v.Missed, missed = int(missed), 0
				if seen = c.Number; !yield(v) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-g.member.loop.Ended():
				return
			}
		}
	}
}

// A Proof says that a member led a group, or leads it still: it was said by the leader itself, which will not let itself
// be replaced before the proof is over.
type Proof struct {
	// Leader is the name of the member, and Token its token.
	Leader string
	Token  uint64
	// Until is the instant of this member's clock before which the proof holds.
	Until  Instant
	member *Member
}

// Valid says whether the proof still holds.
func (p *Proof) Valid() bool { return p.member.late() < p.Until }

// ErrNoLeader says that nobody could be proven to lead.
var ErrNoLeader = errors.New("no leader")

// Verify asks the leader of the group whether it leads. The proof holds for about a round trip. The error wraps
// [ErrNoLeader] if nobody is known to lead, or who should lead does not say so.
func (g *Group) Verify(ctx context.Context) (*Proof, error) {
	a, err := g.member.board.Ask(ctx, func(id uint64) protocol.Event { return protocol.Verify{Group: g.group.Name, ID: id} })
	if err != nil {
		return nil, g.member.explain(err)
	}
	name := g.member.council.name(a.Leader.Rank)
	if !a.OK {
		if name == "" {
			return nil, fmt.Errorf("group %s: %w is known at %s", g.Name(), ErrNoLeader, g.member.Name())
		}
		return nil, fmt.Errorf("group %s: %w: %s did not confirm that it leads", g.Name(), ErrNoLeader, name)
	}
	return &Proof{Leader: name, Token: a.Term, Until: Instant(a.Until), member: g.member}, nil
}

// gone says whether the member is closed.
func (m *Member) gone() bool {
	select {
	case <-m.loop.Ended():
		return true
	default:
		return false
	}
}
