package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/why"
)

// localRemaining returns how long this host leads its part of the network in the group; zero if it does not.
func (a *Agent) localRemaining(group string) time.Duration {
	s := a.seats[group]
	if s == nil {
		return 0
	}
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil || !host.Valid() {
		return 0
	}
	return host.Remaining()
}

// LeadsHere says whether this host leads a group at an instant during the call, and for how long at least if there is a
// lease: that of a program of its own, or of the host itself in a local group. An eventual group has none.
func (a *Agent) LeadsHere(c *api.Change) (bool, time.Duration) {
	switch c.Mode {
	case regent.Local:
		left := a.localRemaining(c.Group)
		return left > 0, left
	case regent.Eventual, regent.Consistent:
		return c.Mine, 0
	}
	if k := a.Leader(c.Group); k != nil && k.LeadsNow() {
		return true, k.remaining()
	}
	return false, 0
}

// openGroups has this host take part in the groups of other modes that the configuration lists: there hosts lead, and programs have their
// turns while their host does.
func (a *Agent) openGroups(ctx context.Context, tasks *sync.WaitGroup) {
	m := a.member.Load()
	for _, g := range a.Config().Groups {
		switch g.Mode {
		case regent.Local:
			group, err := m.LocalGroup(g.Name)
			if err != nil {
				a.stayOut(g.Name, err)
				continue
			}
			tasks.Go(func() { a.leadLocally(ctx, group) })
			tasks.Go(func() { a.addViews(group.Watch(ctx)) })
		case regent.Eventual:
			a.followEventual(ctx, m, g, tasks)
		case regent.Consistent: // this host takes part while a program does
			group, err := m.ConsistentGroup(g.Name)
			if err != nil {
				a.Log.Warn("this host does not see a consistent group", "group", g.Name, "err", err)
				continue
			}
			tasks.Go(func() { a.addViews(group.Watch(ctx)) })
		}
	}
}

// stayOut takes note that this host does not take part in a group that hosts lead, and ends the campaigns of its programs.
func (a *Agent) stayOut(group string, err error) {
	a.Log.Warn("this host does not take part in a group that hosts lead", "group", group, "err", err)
	a.seats[group].close(fmt.Errorf("this host does not take part in group %s: %w", group, err))
}

// leadLocally leads whenever this host can. It gives the leadership up when the program that had its turn has stopped. When it
// ends, it ends the campaigns of programs that wait: no later turn would come.
func (a *Agent) leadLocally(ctx context.Context, group *regent.LocalGroup) {
	s := a.seats[group.Name()]
	err := group.Lead(ctx, func(ctx context.Context, l *regent.LocalLease) error {
		s.lead(l)
		<-ctx.Done()
		s.lose(cmp.Or(l.Cause(), regent.Cause{Why: why.Closed, Member: a.Name}))
		s.vacant(a.present)
		return nil
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, regent.ErrClosed) {
		a.stayOut(group.Name(), err)
		return
	}
	s.close(regent.ErrClosed)
}

func (a *Agent) followEventual(ctx context.Context, m *regent.Member, g config.Group, tasks *sync.WaitGroup) {
	group, err := m.EventualGroup(g.Name, elector.Kind(g.Elector))
	if err != nil {
		a.stayOut(g.Name, err)
		return
	}
	tasks.Go(func() {
		s := a.seats[g.Name]
		for v := range group.Watch(ctx) {
			a.ChangeLog.AddView(v)
			if v.Mine {
				s.lead(nil)
			} else {
				s.lose(v.Cause)
			}
		}
		s.lose(regent.Cause{Why: why.Closed, Member: a.Name})
		s.close(regent.ErrClosed)
	})
}

// addViews takes note of all views of a group.
func (a *Agent) addViews(views iter.Seq2[regent.View, error]) {
	for v := range views {
		a.ChangeLog.AddView(v)
	}
}

// ModeOf returns the mode of a group that the configuration lists; all others are quorum groups.
func (a *Agent) ModeOf(group string) regent.Mode {
	for _, g := range a.Config().Groups {
		if g.Name == group {
			return g.Mode
		}
	}
	return regent.Quorum
}
