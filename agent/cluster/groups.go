package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/roster"
)

// Group is a group that a program of every member leads when it can, and reports all that happens. A cluster with a consistent group
// has a council that can have them.
type Group struct {
	Name string      `json:"name"`
	Mode regent.Mode `json:"mode"`
	// Beside lets members that know of no leader of a quorum group have local ones.
	Beside bool `json:"beside,omitempty"`
	// Quiet quorum groups are counted and not reported, and have no journal: there may be thousands.
	Quiet bool `json:"quiet,omitempty"`
	// Value is what the leaders of a quorum group announce, followed by the name of the member.
	Value string `json:"value,omitempty"`
}

// OneGroup is a quorum group of the name g.
var OneGroup = []Group{{Name: "g", Mode: regent.Quorum}}

// QuietGroups returns so many quiet quorum groups.
func QuietGroups(n int) []Group {
	var all []Group
	for i := range n {
		all = append(all, Group{Name: fmt.Sprintf("g%d", i), Mode: regent.Quorum, Quiet: true})
	}
	return all
}

// A Standing is a leadership that lasts.
type Standing struct {
	Group string      `json:"group"`
	Mode  regent.Mode `json:"mode"`
	// Local says that it is that of a local leader beside the group.
	Local     bool          `json:"local,omitempty"`
	Token     uint64        `json:"token,omitempty"`
	Remaining time.Duration `json:"remaining_ns"`
	Support   []string      `json:"support,omitempty"`
}

// leadership is what programs see of a lease of any mode.
type leadership interface {
	Valid() bool
	Remaining() time.Duration
}

// program is one that leads a group when it can.
type program struct {
	group Group
	local bool // beside the group, or in a local one
	lease atomic.Pointer[leadership]
}

// about returns an event of a program.
func (p *program) about(what What) Event {
	return Event{What: what, Group: p.group.Name, Mode: p.group.Mode, Local: p.local}
}

// standing returns the state of the program's leadership; false if there is none.
func (p *program) standing() (Standing, bool) {
	l := p.lease.Load()
	if l == nil {
		return Standing{}, false
	}
	s := Standing{Group: p.group.Name, Mode: p.group.Mode, Local: p.local, Remaining: (*l).Remaining(), Token: tokenOf(*l)}
	if x, ok := (*l).(*regent.LocalLease); ok {
		s.Support, _ = x.Support(context.Background()) // nil once it is over
	}
	return s, s.Remaining > 0
}

func tokenOf(l leadership) uint64 {
	if x, ok := l.(*regent.Lease); ok {
		return x.Token()
	}
	return 0
}

// serve runs the programs of a group.
func (s *server) serve(ctx context.Context, n Group, all interface{ Go(func()) }) error {
	switch n.Mode {
	case regent.Quorum:
		g, err := s.member.Group(n.Name)
		if err != nil {
			return err
		}
		if n.Value != "" {
			g = g.Announcing(n.Value + s.member.Name())
		}
		if n.Quiet {
			all.Go(func() { s.leadQuietly(ctx, g) })
			return nil
		}
		p := s.program(n, false)
		all.Go(func() { tellViews(s, p, g.Watch(ctx)) })
		all.Go(func() { leadAgain(ctx, s, p, g.Lead) })
		if !n.Beside {
			return nil
		}
		local, err := g.Local()
		if err != nil {
			return err
		}
		s.serveLocal(ctx, n, local, all)
	case regent.Local:
		g, err := s.member.LocalGroup(n.Name)
		if err != nil {
			return err
		}
		s.serveLocal(ctx, n, g, all)
	case regent.Eventual:
		p := s.program(n, false)
		all.Go(func() { s.followEventual(ctx, p) })
	case regent.Consistent:
		g, err := s.member.ConsistentGroup(n.Name)
		if err != nil {
			return err
		}
		p := s.program(n, false)
		all.Go(func() { tellViews(s, p, g.Watch(ctx)) })
		all.Go(func() { s.takePart(ctx, p, g) })
	default:
		return fmt.Errorf("group %s: no mode %q", n.Name, n.Mode)
	}
	return nil
}

// followEventual tells who leads an eventual group, once the member may: one that is new in its council is an observer at first.
func (s *server) followEventual(ctx context.Context, p *program) {
	for {
		g, err := s.member.EventualGroup(p.group.Name, elector.Stable)
		if err == nil {
			tellViews(s, p, g.Watch(ctx))
			return
		}
		if !s.newcomer() {
			s.say(Event{What: Failed, Group: p.group.Name, Text: err.Error()})
			return
		}
		if !refused(ctx) {
			return
		}
	}
}

// newcomer says that the member has no vote yet, and is to get one.
func (s *server) newcomer() bool {
	c := s.member.Council()
	return slices.ContainsFunc(c.Members, func(m roster.Member) bool { return m.Name == s.order.Name && m.New && m.Observer })
}

// refusedFor is how long a program waits that was refused at once.
const refusedFor = 50 * time.Millisecond

// refused waits before another try; false if there is to be none.
func refused(ctx context.Context) bool {
	select {
	case <-time.After(refusedFor):
		return true
	case <-ctx.Done():
		return false
	}
}

// takePart is the program of a consistent group: whenever it is the fault manager it says who failed, and that it has
// recovered them.
func (s *server) takePart(ctx context.Context, p *program, g *regent.ConsistentGroup) {
	_ = g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
		for v := range l.Views(ctx) {
			if !v.Agreement.Recover {
				continue
			}
			if err := l.Recovered(ctx, v); err == nil {
				e := p.about(Recovered)
				e.Text = strings.Join(lost(v.Agreement), " ")
				s.say(e)
			}
		}
		<-ctx.Done()
		return nil
	})
}

// lost names the members whose work a fault manager recovers, each once: a member may have failed again before it was recovered.
func lost(a *regent.Agreement) []string {
	all := slices.Clone(a.Failed)
	for _, name := range a.Unfinished {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// consistent says whether a council needs to have consistent groups.
func consistent(groups []Group) bool {
	return slices.ContainsFunc(groups, func(n Group) bool { return n.Mode == regent.Consistent })
}

func (s *server) serveLocal(ctx context.Context, n Group, g *regent.LocalGroup, all interface{ Go(func()) }) {
	p := s.program(n, true)
	all.Go(func() { tellViews(s, p, g.Watch(ctx)) })
	all.Go(func() { leadAgain(ctx, s, p, g.Lead) })
}

func (s *server) program(n Group, local bool) *program {
	p := &program{group: n, local: local}
	s.programs = append(s.programs, p)
	return p
}

// tellViews tells what the member believes about a group.
func tellViews(s *server, p *program, views iter.Seq2[regent.View, error]) {
	for v, err := range views {
		if err != nil {
			return // the member is closed
		}
		e := p.about(Saw)
		e.View, e.Support = &v, v.Support
		if v.Agreement != nil {
			e.Support = v.Agreement.Members
		}
		s.say(e)
	}
}

// leadAgain leads a group whenever it can.
func leadAgain[L leadership](ctx context.Context, s *server, p *program, lead func(context.Context, func(context.Context, L) error) error) {
	for s.mayCampaign(ctx) {
		led := false
		err := lead(ctx, func(ctx context.Context, l L) error {
			led = true
			held := leadership(l)
			p.lease.Store(&held)
			defer p.lease.Store(nil)
			s.lead(ctx, p, held)
			return nil
		})
		if errors.Is(err, regent.ErrClosed) || err != nil && !led && !refused(ctx) {
			return
		}
	}
}

// lead is the program that leads a group.
func (s *server) lead(ctx context.Context, p *program, l leadership) {
	e := p.about(Leads)
	e.Token, e.Remaining = tokenOf(l), l.Remaining()
	if x, ok := l.(*regent.LocalLease); ok {
		e.Support, _ = x.Support(ctx) // nil once it is over
	}
	var entry *journal.Entry
	if p.local {
		entry = s.journal.BeginLocal(p.group.Name, e.Support)
	} else {
		entry = s.journal.Begin(p.group.Name, e.Token)
	}
	entry.Observe(l.Valid) // before any command can end it
	s.say(e)
	if s.order.Poll > 0 {
		polling := ctx
		if s.order.Stubborn > 0 {
			polling = context.WithoutCancel(ctx)
		}
		s.poll(polling, l, entry)
		held := p.about(Held)
		span := entry.Span()
		held.Token, held.Since, held.Until = span.Token, span.Since, span.Seen
		s.say(held)
	}
	<-ctx.Done()
	e = p.about(Stops)
	e.Token, e.Text = tokenOf(l), context.Cause(ctx).Error()
	if cause := new(regent.Cause); errors.As(context.Cause(ctx), cause) {
		e.Cause = cause
	}
	s.say(e)
	entry.End(e.Text)
}

// held returns the lease of a quorum group that a command is about: of any if it has no name.
func (s *server) held(group string) *regent.Lease {
	for _, p := range s.programs {
		if l := p.lease.Load(); l != nil && (group == "" || p.group.Name == group) {
			if x, ok := (*l).(*regent.Lease); ok {
				return x
			}
		}
	}
	return nil
}
