package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/runtime"
)

// A ConsistentGroup knows who is in it. Its members agree on exactly who failed and who came back, in one order, and after each
// agreement one of them, the fault manager, recovers what was lost. A member that is cut off from a majority is out, and knows
// it before the others recover in its place; it comes back by itself. It is for programs that take over one another's
// work: all must know whose.
//
// Members that run [ConsistentGroup.TakePart] are candidates for membership; a majority of those that vote must. A manager is there only once all
// members agree. A single broken link blocks agreement until one of its endpoints has to leave.
type ConsistentGroup struct {
	seen
	election consistentElection
}

type (
	// A consistentElection is a consistent group to take part in.
	consistentElection interface {
		source
		join(ctx context.Context) (membership, error)
		gone() bool
	}

	// A membership is one membership in a consistent group.
	membership interface {
		holding
		token() uint64
		first() View
		views(ctx context.Context) iter.Seq[View]
		recovered(v View) error
		// next says that the program has stopped, and waits until it may go on in the next membership.
		next(ctx context.Context) (membership, error)
	}
)

// The groups of this mode stand on the council's machine, apart from quorum groups by their names.
const consistentPrefix = "\x00consistent\x00"

func isConsistent(g protocol.Group) bool { return strings.HasPrefix(string(g), consistentPrefix) }

// plainName is the name by which programs know a group.
func plainName(g protocol.Group) string { return strings.TrimPrefix(string(g), consistentPrefix) }

// ConsistentGroup returns the consistent group with the name, as [Member.Group] does. The council must have been made with [Config.Consistent].
func (m *Member) ConsistentGroup(name string) (*ConsistentGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	if !m.config.Consistent {
		return nil, fmt.Errorf("consistent group %s: the council has none: set Consistent in the configuration of every member", name)
	}
	group := m.groupTable.Group(consistentPrefix + protocol.Group(name))
	e := &hostedConsistent{hostedGroup{m, Consistent, group}}
	return &ConsistentGroup{seen: seen{e}, election: e}, nil
}

// TakePart calls f while this member is in the group, again each time that it is taken in, until ctx ends or f returns while
// the member is still in. The context of f ends when the member is out, or [Timing.Guard] before that if it hears too little
// from the others. It is taken in again only when f has returned. If the member is closed, or not well ([Member.SetHealth]), the
// context ends, and the member is in the group until f has returned.
//
// When f returns by itself the member leaves the group, and TakePart returns what f returned. When ctx has ended, TakePart returns nil,
// after f has returned and the member has left.
func (g *ConsistentGroup) TakePart(ctx context.Context, f func(ctx context.Context, l *Membership) error) error {
	l, err := g.election.join(ctx)
	for {
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		lost, ferr := g.once(ctx, l, f)
		switch {
		case ctx.Err() != nil:
			return nil
		case !lost:
			return ferr
		case g.election.gone():
			return ErrClosed
		}
		l, err = l.next(ctx)
	}
}

// once runs f for one membership. It says whether that was over before f returned, and the program goes on.
func (g *ConsistentGroup) once(ctx context.Context, l membership, f func(context.Context, *Membership) error) (lost bool, err error) {
	within, cancel := leadingContext(ctx, l)
	defer func() {
		if !lost || ctx.Err() != nil { // also if f panics
			_ = l.resign(context.WithoutCancel(ctx))
		}
	}()
	defer cancel(nil)
	err = f(within, &Membership{l})
	return mustStop(within, l), err
}

// hostedConsistent is a consistent group at a member of this process.
type hostedConsistent struct{ hostedGroup }

func (e *hostedConsistent) gone() bool { return e.member.gone() }

func (e *hostedConsistent) join(ctx context.Context) (membership, error) {
	return e.membership(e.group.Campaign(ctx))
}

func (e *hostedConsistent) membership(l *runtime.Lease, err error) (membership, error) {
	if errors.Is(err, runtime.ErrTooMany) {
		return nil, fmt.Errorf("consistent group %s: %w: it can have %d: use one of those", e.name(), err, rain.MaxGroups)
	}
	if err != nil {
		return nil, e.member.explain(err)
	}
	return &hostedMembership{hostedHolding{e.member, l}, e, e.member.view(l.First())}, nil
}

// hostedMembership is a membership at a member of this process.
type hostedMembership struct {
	hostedHolding
	election *hostedConsistent
	taken    View
}

func (h *hostedMembership) token() uint64 { return h.lease.Token() }
func (h *hostedMembership) first() View   { return h.taken }

func (h *hostedMembership) next(ctx context.Context) (membership, error) {
	return h.election.membership(h.lease.Next(ctx))
}

func (h *hostedMembership) views(ctx context.Context) iter.Seq[View] {
	return func(yield func(View) bool) {
		for v, err := range h.election.watch(ctx) {
			if err != nil || v.Leader == "" || !yield(v) {
				return
			}
		}
	}
}

func (h *hostedMembership) recovered(v View) error {
	return h.member.explain(h.lease.Recovered(v.Token, v.Agreement.Number))
}

// A Membership is one membership of this member in a [ConsistentGroup], from when it is taken in until it is out. While it
// is valid, nobody recovers in this member's place.
type Membership struct{ held membership }

// Token is that of the agreement that took the member in. No manager that was replaced before has as high a one: a store that refuses
// lower ones ([View.Token] of what managers write) has nothing of theirs once this one is there.
func (l *Membership) Token() uint64 { return l.held.token() }

// First returns the agreement that took the member in.
func (l *Membership) First() View { return l.held.first() }

// Valid says whether the member was in the group at an instant during the call.
func (l *Membership) Valid() bool { return l.held.valid() }

// Remaining returns for how long the member is in the group if it hears no more from the others; zero once it is out.
func (l *Membership) Remaining() time.Duration { return l.held.remaining() }

// Done is closed when the program must stop.
func (l *Membership) Done() <-chan struct{} { return l.held.done() }

// Cause says why the program must stop; it is zero before Done is closed.
func (l *Membership) Cause() Cause { return l.held.cause() }

// Views yields the present agreement and then every later one, until the member is out or ctx ends.
func (l *Membership) Views(ctx context.Context) iter.Seq[View] { return l.held.views(ctx) }

// errNothing says that there is nothing to recover.
var errNothing = errors.New("the view asks this member to recover nothing")

// Recovered says that this member, the fault manager, has recovered what a view asks for: one that [Membership.Views] has yielded,
// with Recover. Only then is the next change agreed on, unless the manager fails; and soon after that the member's own view has
// Recover no more. If there is a later view by now, because another manager has taken over, the word counts for nothing: what
// is left to do the later view says. At a [Client] the agent then returns an error.
func (l *Membership) Recovered(v View) error {
	if v.Agreement == nil || !v.Agreement.Recover {
		return fmt.Errorf("consistent group %s: view of token %d: %w", l.held.group(), v.Token, errNothing)
	}
	return l.held.recovered(v)
}
