package regent

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/session"
)

// A LocalGroup has one leader in every part of the network that holds together: a member that can talk to nobody leads
// itself. A local leader knows exactly which members support it, its logical partition, and no member is ever in two of
// them. It knows nothing about the other side of a cut, where there is probably another leader: it has no token and stamps no
// orders. For one leader anywhere there is [Group].
//
// Only members at which a program leads, or waits to lead, take part; all others are silent, as if they were down. Of those
// that hear one another the one that goes first in the council leads, as soon as it is heard, also if another led before. A part
// that holds together has its leader within [Timing.Kappa].
type LocalGroup struct{ seen }

// LocalGroup returns the local group with the name, as [Member.Group] does. It has nothing to do with a [Group] of that name.
func (m *Member) LocalGroup(name string) (*LocalGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	if err := m.councilOnly("local group " + name); err != nil {
		return nil, err
	}
	return m.localGroup(modeLocal, name, "the local group "+strconv.Quote(name), nil), nil
}

// Local returns the local leader that this group can have while it has no real one: where a program waits in it, and its
// member knows of no leader of the group itself, one of those that hear one another leads locally, and is asked to
// stop as soon as its member learns that the group has a leader again.
//
// It promises nothing about the other side of a cut: there may be a leader of the group, with a lease and a token, while
// this side has a local one, for a side that is cut off cannot know. It is for what is better done twice than not at
// all.
func (g *Group) Local() (*LocalGroup, error) {
	e, ok := g.election.(*hostedGroup)
	if !ok {
		return nil, fmt.Errorf("group %s: local leaders are offered by members in this process only", g.Name())
	}
	if err := e.member.councilOnly("local leaders of group " + g.Name()); err != nil {
		return nil, err
	}
	return e.member.localGroup(modeBeside, g.Name(), "the local leader of the group "+strconv.Quote(g.Name()), e.group), nil
}

func (m *Member) localGroup(mode, name, label string, unless *runtime.Group) *LocalGroup {
	t := m.timing()
	h := m.localConfig(1)
	g := m.newOnDemand(Local, onDemandKey{mode, name}, label, runtime.OnDemandOptions{
		Make: func(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
			return m.newLocal(now, renamed, inc, protocol.Group(name))
		},
		// What it has promised when it falls silent is over after Lock.
		Linger:    2 * h.Lock,
		Table:     &runtime.GroupTableOptions{Guard: t.localGuard(), Grace: m.config.StopWithin, Late: m.world.Clock.Late},
		Unless:    unless,
		Discovery: t.settle(),
		Changed: func(c *runtime.Change) {
			if c.Number > 1 || c.Leader != protocol.NoIdent {
				m.noteOther(mode, c)
			}
		},
	})
	return &LocalGroup{seen{g}}
}

// localGuard is how long before the end of a local lease its program is asked to stop. A renewal has so much time to spare.
func (t *Timing) localGuard() time.Duration { return min(t.Guard, 2*t.Delay) }

// localConfig is what all local groups have in common.
func (m *Member) localConfig(inc protocol.Inc) hall.Config {
	return m.config.local(m.council(), inc)
}

// newLocal makes the machine of a local group. What an earlier start of this member has promised, or an earlier incarnation
// of this one, is over when the member has run since for as long as such a promise lasts, with whatever timing that start
// ran; until then its machines promise nothing.
func (m *Member) newLocal(now, renamed protocol.Time, inc protocol.Inc, group protocol.Group) (protocol.Machine, error) {
	if err := mayLead(m.council().me()); err != nil {
		return nil, err
	}
	c := m.localConfig(inc)
	c.Group = group
	c.Longest = m.longestLock()
	c.Clean = now.Sub(max(m.started, renamed)) > max(c.Lock, c.Longest)
	// Requests are numbered within an incarnation, across machines: there was none before this that made one each
	// microsecond.
	c.After = uint64(now.Sub(m.started) / time.Microsecond)
	return hall.New(c)
}

// Lead campaigns and calls f while this program leads its part of the network, again after each loss, until ctx ends or f
// returns while it still leads. All that [Group.Lead] says of the context of f holds here, too, but it ends no more than twice
// [Timing.Delay] before the lease, however long [Timing.Guard] is: so much time a renewal has to spare.
func (g *LocalGroup) Lead(ctx context.Context, f func(ctx context.Context, l *LocalLease) error) error {
	if e, ok := g.election.(*onDemandGroup); ok { // at a client the agent takes part
		// The member takes part for all of that time, also between two leaderships.
		exit, err := e.enter()
		if err != nil {
			return err
		}
		defer exit()
	}
	return lead(ctx, g.Campaign, f, g.election.gone)
}

// Campaign waits until this program leads its part of the network, and returns its lease. The lease renews itself until
// [LocalLease.Resign], or until it is lost. The member takes part while a program waits or leads.
func (g *LocalGroup) Campaign(ctx context.Context) (*LocalLease, error) {
	h, err := g.election.campaign(ctx, session.Candidate{}, nil)
	if err != nil {
		return nil, err
	}
	return &LocalLease{leadership{handle: h}}, nil
}

func (g *onDemandGroup) gone() bool { return g.member.gone() }

// enter has the member take part until exit is called.
func (g *onDemandGroup) enter() (exit func(), err error) {
	place, _ := g.use()
	if err := place.Enter(); err != nil {
		g.done()
		return nil, err
	}
	return func() { place.Exit(); g.done() }, nil
}

func (g *onDemandGroup) campaign(ctx context.Context, _ session.Candidate, _ handle) (handle, error) {
	_, group := g.use()
	defer g.done()
	l, err := group.Campaign(ctx)
	if err != nil {
		return nil, err
	}
	return &hosted{Lease: l, member: g.member}, nil
}

// A LocalLease is one leadership of one program in a [LocalGroup]. It renews itself; it ends when the program says so, or is
// lost when not all that the member hears support it any more. A lease that is over never comes back. While it is valid, no
// member that supports it supports another; but there may be other leaders, of other members.
//
// All methods may be called from any goroutine. Valid and Remaining take no lock and do not wait. Neither does Support at a [Member]; at a [Client]
// it asks the agent.
type LocalLease struct{ leadership }

// Support returns the members that support this leader, itself included, in the order of the council. It may change with
// every renewal. It fails with [ErrNotLeader] once the lease is over. At a [Member] it does not wait, and ctx does not matter.
func (l *LocalLease) Support(ctx context.Context) ([]string, error) { return l.handle.Support(ctx) }
