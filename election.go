package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// Groups and leases do not know where the machines are that they are about. What they need is in these interfaces; below
// is what they are at a member of this very process.
type (
	// A source is where a group is seen from.
	source interface {
		name() string
		view(ctx context.Context) (View, error)
		watch(ctx context.Context) iter.Seq2[View, error]
	}

	// An election is a group to take part in.
	election interface {
		source
		campaign(ctx context.Context, value string, lease time.Duration) (tenure, error)
		verify(ctx context.Context) (*Proof, error)
		// gone says that the member is closed, for good.
		gone() bool
	}

	// A holding is one leadership of any mode. All but resign return at once.
	holding interface {
		group() string
		valid() bool
		remaining() time.Duration
		// guarded says whether the guard time before the end has not begun, by the clock.
		guarded() bool
		// done is closed when the program must stop; onDone has a function called then, once; cause says why, and is zero
		// before.
		done() <-chan struct{}
		onDone(f func())
		cause() Cause
		// holder is the member that leads.
		holder() string
		// resign says that the program has stopped.
		resign(ctx context.Context) error
	}

	// A tenure is one leadership of a quorum group.
	tenure interface {
		holding
		token() uint64
		announce(ctx context.Context, value string) error
		edict() (Edict, error)
		// transfer says that the program has stopped, and hands the group over. It says whether that was begun.
		transfer(ctx context.Context, to string) (begun bool, err error)
		canTransfer(ctx context.Context, to string) error
	}
)

// hostedGroup is a group at a member of this process.
type hostedGroup struct {
	member *Member
	mode   Mode
	group  *runtime.Group
}

func (g *hostedGroup) name() string { return plainName(g.group.Name) }

func (g *hostedGroup) view(context.Context) (View, error) {
	return g.member.latest(g.mode, g.group), nil
}

func (g *hostedGroup) watch(ctx context.Context) iter.Seq2[View, error] {
	return watch(ctx, g.member, g.mode, g.group)
}

// hostedElection is a quorum group at a member of this process.
type hostedElection struct{ hostedGroup }

func (e *hostedElection) gone() bool { return e.member.gone() }

// latest returns the view of a group.
func (m *Member) latest(mode Mode, g *runtime.Group) View {
	if c := g.Latest(); c != nil {
		return m.view(c)
	}
	return noView(mode, g.Name)
}

// watch yields the present view and then every change of a group.
func watch(ctx context.Context, m *Member, mode Mode, g *runtime.Group) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		var seen uint64
		now := noView(mode, g.Name)
		if c := g.Latest(); c != nil {
			seen, now = c.Number, m.view(c)
		}
		if !yield(now, nil) {
			return
		}
		for closed := false; ; {
			changed := g.Changed()
			changes, missed := g.After(seen)
			for _, c := range changes {
				seen = c.Number
				v := m.view(c)
				v.Missed, missed = int(missed), 0
				if shown(c, &v) {
					continue
				}
				if !yield(v, nil) {
					return
				}
			}
			switch {
			case ctx.Err() != nil:
				return
			case closed:
				yield(View{Group: plainName(g.Name), Mode: mode, Cause: Cause{Why: why.Closed, Member: m.Name()}}, ErrClosed)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-m.loop.Ended():
				closed = true // whoever is slow has not seen the last changes yet
			}
		}
	}
}

func (e *hostedElection) campaign(ctx context.Context, value string, lease time.Duration) (tenure, error) {
	if err := e.member.council.me().mayLead(); err != nil {
		return nil, err
	}
	if err := e.member.config.Timing.CheckLease(lease); err != nil {
		return nil, err
	}
	l, err := e.group.CampaignFor(ctx, lease)
	if err != nil {
		return nil, e.member.explain(err)
	}
	party.Take(ctx, party.Hold{
		Until: l.Until,
		Lapse: func(code protocol.CauseCode, member string) {
			c := protocol.Cause{Code: code, Peer: protocol.Nobody}
			if rank, ok := e.member.council.rank(member); ok {
				c.Peer = rank
			}
			_ = l.Lapse(c) // nothing renews the lease of a member that is closed
		},
	})
	if value != "" {
		if err := l.Announce(value); err != nil {
			return nil, e.member.explain(err)
		}
	}
	return &hostedTenure{hostedHolding{e.member, l}}, nil
}

// checkGroup says what is wrong with the name of a group. Every group is made with it, here as by an agent.
func checkGroup(name string) error { return session.CheckGroup(name) }

func (e *hostedElection) verify(ctx context.Context) (*Proof, error) {
	m := e.member
	a, err := m.groupTable.Ask(ctx, func(id uint64) protocol.Event { return protocol.Verify{Group: e.group.Name, ID: id} })
	if err != nil {
		return nil, m.explain(err)
	}
	name := m.council.name(a.Leader.Rank)
	if !a.OK {
		if name == "" {
			return nil, fmt.Errorf("group %s: %w is known at %s", e.name(), ErrNoLeader, m.Name())
		}
		return nil, fmt.Errorf("group %s: %w: %s did not confirm that it leads", e.name(), ErrNoLeader, name)
	}
	p := &Proof{Leader: name, Token: a.Term, until: a.Until, now: m.world.Clock.Late}
	if a.Value != nil {
		p.Value = a.Value.Text
	}
	return p, nil
}

// hostedHolding is a leadership at a member of this process.
type hostedHolding struct {
	member *Member
	lease  *runtime.Lease
}

func (h *hostedHolding) group() string            { return plainName(h.lease.Group().Name) }
func (h *hostedHolding) valid() bool              { return h.lease.Valid() }
func (h *hostedHolding) remaining() time.Duration { return h.lease.Remaining() }
func (h *hostedHolding) guarded() bool            { return h.lease.Guarded() }
func (h *hostedHolding) done() <-chan struct{}    { return h.lease.Done() }
func (h *hostedHolding) onDone(f func())          { h.lease.OnDone(f) }
func (h *hostedHolding) holder() string           { return h.member.Name() }

func (h *hostedHolding) cause() Cause {
	c := h.lease.Cause()
	if c == nil {
		return Cause{}
	}
	return h.member.cause(*c)
}

func (h *hostedHolding) resign(ctx context.Context) error {
	return h.member.explain(h.lease.Resign(ctx))
}

// hostedTenure is a leadership of a quorum group at a member of this process.
type hostedTenure struct{ hostedHolding }

func (t *hostedTenure) token() uint64 { return t.lease.Token() }

func (t *hostedTenure) announce(_ context.Context, value string) error {
	if !t.valid() {
		return ErrNotLeader
	}
	return t.member.explain(t.lease.Announce(value))
}

func (t *hostedTenure) edict() (Edict, error) {
	e, err := t.lease.Edict()
	if err != nil {
		return Edict{}, err
	}
	return fence.Of(e), nil
}

func (t *hostedTenure) transfer(ctx context.Context, to string) (begun bool, err error) {
	rank, ok := t.member.council.rank(to)
	if !ok {
		return false, fmt.Errorf("no member %q in the council", to)
	}
	a, begun, err := t.lease.Transfer(ctx, rank)
	switch {
	case err != nil:
		return begun, t.member.explain(err)
	case a.OK:
		return true, nil
	case !begun:
		return false, refused(a.Why, to)
	}
	if now := t.member.council.name(a.Leader.Rank); now != "" {
		return true, fmt.Errorf("%s leads instead", now)
	}
	return true, fmt.Errorf("given up, but %s has not taken it yet", to)
}

func (t *hostedTenure) canTransfer(ctx context.Context, to string) error {
	rank, ok := t.member.council.rank(to)
	if !ok {
		return fmt.Errorf("no member %q in the council", to)
	}
	a, err := t.lease.CanTransfer(ctx, rank)
	if err == nil && !a.OK {
		return refused(a.Why, to)
	}
	return t.member.explain(err)
}

// refused explains why a handover was not even begun.
func refused(why protocol.Refusal, to string) error {
	switch why {
	case protocol.ToItself:
		return fmt.Errorf("refused: %s leads it already", to)
	case protocol.MayNotLead:
		return fmt.Errorf("refused: %s is a witness or an observer, and never leads", to)
	case protocol.NoCandidate:
		return errors.New("refused: no program campaigns for it there, or the member is not well")
	}
	return fmt.Errorf("refused: %v", why)
}
