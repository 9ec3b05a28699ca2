package core

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/names"
)

// LeaderOfGroup does not ask the change log first: a program may give orders before the agent has heard of its election like everybody else.
func (a *Agent) LeaderOfGroup(group string, token uint64, command string) (*Candidate, error) {
	k := a.Leader(group)
	if k == nil {
		c, _ := a.ChangeLog.Group(group)
		if c == nil {
			return nil, a.UnknownGroup(group)
		}
		return nil, a.notLedHere(c, command)
	}
	if number := k.Number(); token != 0 && number != token {
		return nil, api.Errorf(http.StatusConflict, "group %s: token %d is not that of its leader, %d", group, token, number)
	}
	return k, nil
}

// notLedHere says why no program here can be given an order about a group, and where to give it.
func (a *Agent) notLedHere(c *api.Change, command string) error {
	switch {
	case c.Mode == regent.Consistent:
		return api.Errorf(http.StatusConflict, "group %s is consistent: its members agree on their manager, and there is nothing to resign, to hand over or to stamp", c.Group)
	case c.Mode != regent.Quorum:
		return api.Errorf(http.StatusConflict, "group %s is %s: hosts lead it by themselves, and there is nothing to resign, to hand over or to stamp", c.Group, c.Mode)
	case c.Leader == "":
		return api.Errorf(http.StatusConflict, "group %s: no member leads it, as far as %s knows", c.Group, a.Name)
	case c.Leader == a.Name:
		return api.Errorf(http.StatusConflict, "group %s: no program here leads it any more", c.Group)
	}
	return a.elsewhere(c.Leader, command, fmt.Sprintf("group %s: %s leads it, so only its agent can do that", c.Group, c.Leader))
}

// An Elsewhere says that the agent of another host has to carry an order out.
type Elsewhere struct {
	Host string
	// Why is the reason, and Command is what to run there.
	Why, Command string
}

func (e *Elsewhere) Error() string { return e.Why + ": " + e.Command }

func (a *Agent) elsewhere(host, command, why string) error {
	return api.WithStatus(http.StatusConflict, &Elsewhere{Host: host, Why: why, Command: a.commandAt(host, command)})
}

// commandAt says how to give an order at another member.
func (a *Agent) commandAt(member, command string) string {
	where := "host " + member
	for _, m := range a.Members() {
		if m.Addr.IsValid() && m.Name == member {
			where += " (" + m.Addr.Addr().String() + ")"
		}
	}
	if command == "" {
		return "ask it on " + where
	}
	return "run '" + command + "' on " + where
}

// What to say at the leader's host.
func ResignCommand(group string) string { return "regent resign " + group }

func TransferCommand(group, to string) string {
	return "regent transfer " + group + " " + memberOrPlaceholder(to)
}

// memberOrPlaceholder stands for a member if none is named.
func memberOrPlaceholder(to string) string {
	if to == "" {
		return "MEMBER"
	}
	return to
}

// CheckMember says why a name cannot be that of a successor, wherever the group is led: nobody has it, or an engine elects.
func (a *Agent) CheckMember(to string) error {
	switch members := a.Members(); {
	case to == "":
		return api.Errorf(http.StatusBadRequest, "missing successor (name a member in \"to\")")
	case a.Config().Engine != nil:
		return api.Errorf(http.StatusConflict, "engine %s: transfer to a named member: %w (regent resign lets the next candidate lead)", a.Config().Engine.Kind, engine.ErrUnsupported)
	case !slices.ContainsFunc(members, func(m regent.PeerStatus) bool { return m.Name == to }):
		return noMember(to, members)
	}
	return nil
}

// CheckSuccessor says why this host cannot hand a member anything.
func (a *Agent) CheckSuccessor(to string) error {
	if err := a.CheckMember(to); err != nil {
		return err
	}
	for _, m := range a.Members() {
		switch {
		case m.Name != to:
		case m.Self:
			return api.Errorf(http.StatusBadRequest, "%s leads already", to)
		case !m.Heard:
			return api.Errorf(http.StatusConflict, "member %s was not heard yet (see 'regent members')", to)
		}
	}
	return nil
}

// noMember reports that a name is not that of a member, and names those that there are.
func noMember(name string, members []regent.PeerStatus) error {
	var all []string
	for i := range members {
		all = append(all, members[i].Name)
	}
	hint := ""
	if near := names.Nearest(name, all); near != "" {
		hint = " (did you mean " + near + "?)"
	} else if len(all) > 0 {
		hint = " (the members are " + strings.Join(all[:min(len(all), maxNamed)], ", ") + ")"
	}
	return api.Errorf(http.StatusBadRequest, "no member %.64q in the council%s", name, hint)
}

// maxNamed is how many members an error names.
const maxNamed = 20

// Order gives an order and waits for its outcome.
func (a *Agent) Order(ctx context.Context, k *Candidate, o *Order) error {
	if err := awaitSuccessor(ctx, k, o.to); err != nil {
		return conflict(err)
	}
	k.carryOut(o)
	select {
	case err := <-o.Outcome:
		return conflict(err)
	case <-k.Ended:
		// What became of it is reported before. An order that came too late may have been seen by nobody.
		select {
		case err := <-o.Outcome:
			return conflict(err)
		default:
			return api.Errorf(http.StatusConflict, "group %s: no program here leads it any more", k.Group)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// successorTimeout is how long a successor may be unknown here that has just begun to campaign, and successorPollInterval how often to look.
const (
	successorTimeout      = time.Second
	successorPollInterval = 20 * time.Millisecond
)

// awaitSuccessor says why a group cannot be handed over to a member, if one is named, before its program is asked to stop. After
// that it would be too late.
func awaitSuccessor(ctx context.Context, k *Candidate, to string) error {
	l := k.CurrentLease()
	if to == "" || l == nil {
		return nil
	}
	for limit := time.After(successorTimeout); ; {
		err := l.CanTransfer(ctx, to)
		if err == nil || errors.Is(err, regent.ErrNotLeader) || ctx.Err() != nil {
			return err
		}
		select {
		case <-limit:
			return err
		case <-time.After(successorPollInterval):
		case <-k.Ended:
			return regent.ErrNotLeader
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// conflict gives an error of the council's the status that it has over HTTP.
func conflict(err error) error {
	if err == nil {
		return nil
	}
	return api.WithStatus(http.StatusConflict, err)
}

// LeaderAfter says who leads a group after a leadership that has ended in favour of a member, or of nobody in particular. The
// change log learns of that a moment later than who gave the order; it waits for that until ctx ends.
func (a *Agent) LeaderAfter(ctx context.Context, group string, token uint64, to string) api.Outcome {
	out := api.Outcome{Group: group, Leader: to}
	watch, present := a.ChangeLog.Watch(group, WatchDepth)
	defer a.ChangeLog.Unwatch(watch)
	for {
		for _, c := range present {
			if c.Token > token && c.Leader != "" && (to == "" || c.Leader == to) {
				out.Leader, out.Token = c.Leader, c.Token
				return out
			}
			if to == "" && (c.Leader == "" || c.Token > token) {
				return out
			}
		}
		select {
		case c := <-watch.C:
			present = []*api.Change{c}
		case <-ctx.Done():
			return out
		}
	}
}
