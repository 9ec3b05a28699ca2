package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure/recovery"
	"github.com/regentproject/regent/why"
)

// An election is a group of any mode, as this program sees it and takes part in it: at a member of this very process (hostedGroup, and onDemandGroup if the
// group has a machine of its own), or at the agent (agentGroup).
type election interface {
	name() string
	view(ctx context.Context) (View, error)
	watch(ctx context.Context) iter.Seq2[View, error]
	// campaign waits until the program leads. Its group has the name and the mode. After is the membership in a consistent group that
	// was lost before, and whose program has stopped; nil: there was none.
	campaign(ctx context.Context, c session.Candidate, after handle) (handle, error)
	// gone says that the member is closed, for good.
	gone() bool
}

// A verifier is an election whose leader can be proven: one of a quorum group.
type verifier interface {
	verify(ctx context.Context) (*Proof, error)
}

// hostedGroup is a group at a member of this process.
type hostedGroup struct {
	member *Member
	mode   Mode
	group  *runtime.Group
}

func (g *hostedGroup) name() string { return plainName(g.group.Name) }
func (g *hostedGroup) gone() bool   { return g.member.gone() }

func (g *hostedGroup) view(context.Context) (View, error) {
	return g.member.latest(g.mode, g.group), nil
}

func (g *hostedGroup) watch(ctx context.Context) iter.Seq2[View, error] {
	return watch(ctx, g.member, g.mode, g.group)
}

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
				closed = true // a slow watcher has not seen the last changes yet
			}
		}
	}
}

func (g *hostedGroup) campaign(ctx context.Context, c session.Candidate, after handle) (handle, error) {
	if g.mode == Consistent {
		return g.takePart(ctx, after)
	}
	if err := mayLead(g.member.council().me()); err != nil {
		return nil, err
	}
	if err := g.member.timing().CheckLease(c.Lease); err != nil {
		return nil, err
	}
	if c.Lease != 0 && c.Lease != g.member.timing().Lease {
		if err := g.member.councilOnly(fmt.Sprintf("leases of %v instead of %v", c.Lease, g.member.config.Timing.Lease)); err != nil {
			return nil, err
		}
	}
	l, err := g.group.CampaignFor(ctx, c.Lease, c.Value)
	if err != nil {
		return nil, err
	}
	party.Take(ctx, party.Hold{
		Until:   l.Until,
		Number:  l.Token(),
		Entrust: func(runner, cgroup *os.File) error { return g.member.entrust(l, runner, cgroup) },
		Lapse: func(code protocol.CauseCode, member string) {
			c := protocol.Cause{Code: code, Peer: protocol.Nobody}
			if rank, ok := g.member.council().rank(member); ok {
				c.Peer = rank
			}
			_ = l.Lapse(c) // nothing renews the lease of a member that is closed
		},
	})
	return &hosted{Lease: l, member: g.member}, nil
}

// checkGroup says what is wrong with the name of a group. Every group is made with it, here as by an agent.
func checkGroup(name string) error { return session.CheckGroup(name) }

func (g *hostedGroup) verify(ctx context.Context) (*Proof, error) {
	m := g.member
	a, err := m.groupTable.Ask(ctx, func(id uint64) protocol.Event { return protocol.Verify{Group: g.group.Name, ID: id} })
	if err != nil {
		return nil, err
	}
	name := m.council().name(a.Leader.Rank)
	if !a.OK {
		if name == "" {
			return nil, fmt.Errorf("group %s: %w is known at %s", g.name(), ErrNoLeader, m.Name())
		}
		return nil, fmt.Errorf("group %s: %w: %s did not confirm that it leads", g.name(), ErrNoLeader, name)
	}
	p := &Proof{Leader: name, Token: a.Term, until: a.Until, now: m.world.Clock.Late}
	if a.Value != nil {
		p.Value = a.Value.Text
	}
	return p, nil
}

// hosted is a leadership at a member of this process: a lease of the runtime's, with the names of members instead of their ranks.
type hosted struct {
	*runtime.Lease
	member *Member
	first  View // in a consistent group
}

func (h *hosted) Group() string  { return plainName(h.Lease.Group().Name) }
func (h *hosted) Member() string { return h.member.Name() }

// Token is zero on an engine that offers none. The machines below go on using the number that they have.
func (h *hosted) Token() uint64 {
	if h.member.outside.unfenced() {
		return 0
	}
	return h.Lease.Token()
}

func (h *hosted) Cause() Cause {
	c := h.Lease.Cause()
	if c == nil {
		return Cause{}
	}
	return h.member.cause(*c)
}

func (h *hosted) Announce(_ context.Context, value string) error {
	if !h.Valid() {
		return ErrNotLeader
	}
	return h.Lease.Announce(value, h.member.config.Timing.RoundTrip/4)
}

func (h *hosted) Transfer(ctx context.Context, to string) (begun bool, err error) {
	if err := h.member.councilOnly("transfer to a named member"); err != nil {
		return false, err
	}
	rank, ok := h.member.council().rank(to)
	if !ok {
		return false, fmt.Errorf("no member %q in the council", to)
	}
	a, begun, err := h.Lease.Transfer(ctx, rank)
	switch {
	case err != nil:
		return begun, err
	case a.OK:
		return true, nil
	case !begun:
		return false, refused(a.Why, to)
	}
	if now := h.member.council().name(a.Leader.Rank); now != "" {
		return true, fmt.Errorf("%s leads instead", now)
	}
	return true, fmt.Errorf("given up, but %s has not taken it yet", to)
}

func (h *hosted) CanTransfer(ctx context.Context, to string) error {
	if err := h.member.councilOnly("transfer to a named member"); err != nil {
		return err
	}
	rank, ok := h.member.council().rank(to)
	if !ok {
		return fmt.Errorf("no member %q in the council", to)
	}
	a, err := h.Lease.CanTransfer(ctx, rank)
	if err == nil && !a.OK {
		return refused(a.Why, to)
	}
	return err
}

func (h *hosted) Edict(context.Context) (stamp.Edict, error) {
	if h.member.outside.unfenced() {
		return stamp.Edict{}, h.member.councilOnly("a stamp for a fence")
	}
	return h.Lease.Edict()
}

func (h *hosted) Support(context.Context) ([]string, error) {
	if !h.Valid() {
		return nil, ErrNotLeader
	}
	return h.member.council().set(h.Lease.Support()), nil
}

func (h *hosted) First() View { return h.first }

func (h *hosted) Views(ctx context.Context) iter.Seq[View] {
	return func(yield func(View) bool) {
		r := h.NewReader()
		defer r.Close()
		for v, err := range watch(ctx, h.member, Consistent, h.Lease.Group()) {
			if err != nil || v.Leader == "" {
				return
			}
			if v.Agreement != nil {
				v.Agreement.Recover = r.Asks(v.Token, v.Agreement.Number)
			}
			if !yield(v) {
				return
			}
		}
	}
}

// uncounted says why a report of a recovery does not count.
var uncounted = map[recovery.Verdict]string{
	recovery.Unasked: "this program was not asked to recover it",
	recovery.Stale:   "a later agreement has replaced it (recover what that one asks for)",
}

func (h *hosted) Recovered(_ context.Context, token, number uint64) error {
	verdict, err := h.Lease.Recovered(token, number)
	switch {
	case err != nil:
		return err
	case verdict == recovery.Late:
		return ErrNotLeader
	}
	if text := uncounted[verdict]; text != "" {
		return fmt.Errorf("consistent group %s: agreement %d of token %d: %s", h.Group(), number, token, text)
	}
	return nil
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
