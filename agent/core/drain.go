package core

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
)

// successionTimeout is how long to wait for leaders elsewhere at least, after a host was drained, and successionPollInterval how often to
// look.
const (
	successionTimeout      = time.Second
	successionPollInterval = 20 * time.Millisecond
)

// Drain moves all leadership away from this host and keeps it away, or lets programs here lead again. It returns when that is done.
func (a *Agent) Drain(ctx context.Context, drain bool, o *api.DrainOrder) (api.Drained, error) {
	out := api.Drained{Member: a.Name, Drained: drain}
	if err := a.checkDrain(drain, o); err != nil {
		return out, err
	}
	m := a.speaking()
	if m == nil {
		return out, ErrJoining
	}
	if !drain {
		err := m.Undrain(ctx)
		if err == nil {
			a.awaitShown(ctx, drain)
		}
		return out, err
	}
	if err := cannotDrain(a.Members()); err != nil && !o.Yes {
		return out, err
	}
	led := a.ledHere()
	if err := m.Drain(ctx); err != nil {
		return out, err
	}
	a.awaitShown(ctx, drain)
	out.Leaderless = a.awaitLeaders(ctx, led)
	out.Moved = len(led) - len(out.Leaderless)
	return out, nil
}

// awaitShown waits a moment until the list of members shows whether this one is drained.
func (a *Agent) awaitShown(ctx context.Context, drained bool) {
	ctx, cancel := context.WithTimeout(ctx, successionTimeout)
	defer cancel()
	look := time.NewTicker(successionPollInterval)
	defer look.Stop()
	for !slices.ContainsFunc(a.Members(), func(m regent.PeerStatus) bool { return m.Self && m.Drained == drained }) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkDrain returns an error if the order is not for this host.
func (a *Agent) checkDrain(drain bool, o *api.DrainOrder) error {
	command := "regent drain "
	if !drain {
		command = "regent undrain "
	}
	switch {
	case o.Member == a.Name:
		return nil
	case o.Member == "":
		return api.Errorf(http.StatusBadRequest, "missing member (name this host, %s, in \"member\")", a.Name)
	case !slices.ContainsFunc(a.Members(), func(m regent.PeerStatus) bool { return m.Name == o.Member }):
		return noMember(o.Member, a.Members())
	}
	return a.elsewhere(o.Member, command+o.Member, fmt.Sprintf("this is host %s: only the agent of %s can do that", a.Name, o.Member))
}

// cannotDrain returns an error if no other member could lead, with what keeps each of them from it.
func cannotDrain(members []regent.PeerStatus) error {
	var reasons []string
	for i := range members {
		m := &members[i]
		if m.Self {
			continue
		}
		why := ""
		switch {
		case m.Role != "":
			why = "is a " + m.Role
			if m.Role == "observer" {
				why = "is an observer"
			}
		case m.Drained:
			why = "is drained"
		case m.Unhealthy:
			why = "is unhealthy"
		case !m.Heard || !m.Trusted:
			why = "is not heard"
		case m.Problem != "":
			why = "does not count: " + m.Problem
		default:
			return nil
		}
		reasons = append(reasons, m.Name+" "+why)
	}
	return api.Errorf(http.StatusConflict, "no other host could lead: %s (undrain or start one first, or drain this host too with --yes)",
		cmp.Or(strings.Join(reasons, ", "), "the council has no other members"))
}

// ledHere returns the groups that this host or a program of it leads.
func (a *Agent) ledHere() (groups []string) {
	all, _ := a.ChangeLog.List("", "", 0)
	for _, c := range all {
		if c.Mine {
			groups = append(groups, c.Group)
		}
	}
	return groups
}

// awaitLeaders waits a moment for other hosts to lead some groups, and returns those that nobody leads.
func (a *Agent) awaitLeaders(ctx context.Context, groups []string) []string {
	ctx, cancel := context.WithTimeout(ctx, max(successionTimeout, a.Timing.Lease))
	defer cancel()
	look := time.NewTicker(successionPollInterval)
	defer look.Stop()
	for {
		groups = slices.DeleteFunc(groups, func(g string) bool {
			c, _ := a.ChangeLog.Group(g)
			return c != nil && c.Leader != "" && c.Leader != a.Name
		})
		if len(groups) == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return groups
		}
	}
}
