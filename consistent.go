package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/session"
)

// A ConsistentGroup knows who is in it. Its members agree on exactly who failed and who came back, in one order, and after each
// agreement one of them, the fault manager, recovers what was lost. A member that is cut off from a majority is out, and knows
// it before the others recover in its place; it comes back by itself. It is for programs that take over one another's
// work: all must know whose.
//
// Members that run [ConsistentGroup.TakePart] are candidates for membership; a majority of those that vote must. A manager is there only once all
// members agree. A single broken link blocks agreement until one of its endpoints has to leave.
type ConsistentGroup struct{ seen }

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
	if err := m.councilOnly("consistent group " + name); err != nil {
		return nil, err
	}
	if !m.config.Consistent {
		return nil, fmt.Errorf("consistent group %s: the council has none: set Consistent in the configuration of every member", name)
	}
	return &ConsistentGroup{seen{&hostedGroup{m, Consistent, m.groupTable.Group(consistentPrefix + protocol.Group(name))}}}, nil
}

// TakePart calls f while this member is in the group, again each time that it is taken in, until ctx ends or f returns while
// the member is still in. The context of f ends when the member is out, or [Timing.Guard] before that if it hears too little
// from the others. It is taken in again only when f has returned. If the member is closed, or not well ([Member.SetHealth]), the
// context ends, and the member is in the group until f has returned.
//
// When f returns by itself the member leaves the group, and TakePart returns what f returned. When ctx has ended, TakePart returns nil,
// after f has returned and the member has left.
func (g *ConsistentGroup) TakePart(ctx context.Context, f func(ctx context.Context, l *Membership) error) error {
	var last handle
	campaign := func(ctx context.Context) (*Membership, error) {
		h, err := g.election.campaign(ctx, session.Candidate{}, last)
		if err != nil {
			return nil, err
		}
		last = h
		return &Membership{leadership{handle: h, continued: true}}, nil
	}
	return lead(ctx, campaign, f, g.election.gone)
}

// takePart waits until this member is in a consistent group, for the first time or after another membership.
func (g *hostedGroup) takePart(ctx context.Context, after handle) (handle, error) {
	campaign := g.group.Campaign
	if after != nil {
		campaign = after.(*hosted).Next
	}
	l, err := campaign(ctx)
	if errors.Is(err, runtime.ErrTooMany) {
		return nil, fmt.Errorf("consistent group %s: %w: it can have %d: use one of those", g.name(), err, rain.MaxGroups)
	}
	if err != nil {
		return nil, err
	}
	first := g.member.view(l.First())
	if first.Agreement != nil {
		first.Agreement.Recover = false // Views asks
	}
	return &hosted{Lease: l, member: g.member, first: first}, nil
}

// A Membership is one membership of this member in a [ConsistentGroup], from when it is taken in until it is out. While it
// is valid, nobody recovers in this member's place.
type Membership struct{ leadership }

// Token is that of the agreement that took the member in. No manager that was replaced before has as high a one: a store that refuses
// lower ones ([View.Token] of what managers write) has nothing of theirs once this one is there.
func (l *Membership) Token() uint64 { return l.handle.Token() }

// First returns the agreement that took the member in. It asks for nothing: Views does.
func (l *Membership) First() View { return l.handle.First() }

// Views yields the present agreement and then every later one, until the member is out or ctx ends. Recover is set once for each agreement that asks
// this member to recover. It is set again only for a loop over Views that begins after the one that yielded it has ended, and before the report.
func (l *Membership) Views(ctx context.Context) iter.Seq[View] { return l.handle.Views(ctx) }

// errNothing says that there is nothing to recover.
var errNothing = errors.New("the view asks this member to recover nothing")

// Recovered reports that this member, the fault manager, has recovered what a view asks for: one that [Membership.Views] has yielded,
// with Recover. Only then is the next change agreed on, unless the manager fails; and soon after that the member's own view has
// Recover no more. A report counts once, and the same one again is no error. It is an error if the program was not asked, and [ErrNotLeader]
// once the member is out. If there is a later view by now, the report does not count, and Recovered returns an error: the later view has
// what is left to recover. At a [Member] it does not wait, and ctx does not matter. At a [Client] it asks the agent.
//
// Do not wait for members that are out, or that have failed since the view: the group agrees on no change before the report, so it would never
// take those in or remove these. A manager that needs them reports, and keeps account itself of what is left: later views do not list it.
func (l *Membership) Recovered(ctx context.Context, v View) error {
	if v.Agreement == nil || !v.Agreement.Recover {
		return fmt.Errorf("consistent group %s: view of token %d: %w", l.Group(), v.Token, errNothing)
	}
	return l.handle.Recovered(ctx, v.Token, v.Agreement.Number)
}
