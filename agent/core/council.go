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
	"github.com/regentproject/regent/roster"
)

// Council returns the council as the member of this host knows it.
func (a *Agent) Council() (api.CouncilInfo, error) {
	m := a.speaking()
	if m == nil {
		return api.CouncilInfo{}, ErrJoining
	}
	return councilInfo(m.Council()), nil
}

// GoesByAgreement says that the council has changed since it began: what its members have agreed on counts, and not the list in a file.
func (a *Agent) GoesByAgreement() bool {
	m := a.speaking()
	return m != nil && m.Council().Number > 0
}

// councilInfo counts the votes of a council.
func councilInfo(c roster.Council) api.CouncilInfo {
	out := api.CouncilInfo{Council: c}
	for i := range c.Members {
		if !c.Members[i].Observer {
			out.Voters++
		}
	}
	out.Tolerates = tolerated(out.Voters)
	return out
}

// tolerated returns how many of some voters may fail.
func tolerated(voters int) int { return max(0, (voters-1)/2) }

// councilWait bounds how long an answer about a change waits for its end, and acceptWait is how long it waits at least. It waits longer, up to
// decisionWait, while members have neither agreed on the change nor refused it.
const (
	councilWait  = time.Minute
	acceptWait   = time.Second
	decisionWait = 10 * time.Second
)

// ChangeCouncil has the members agree on a change of the council. It returns once the change is over, or as soon as the order's time has
// passed: then the change goes on.
func (a *Agent) ChangeCouncil(ctx context.Context, o *api.CouncilOrder) (api.CouncilInfo, error) {
	m := a.speaking()
	if m == nil {
		return api.CouncilInfo{}, ErrJoining
	}
	now := m.Council()
	forecast := roster.Forecast{}
	err := judgeChange(&now, &o.Change, o.Yes)
	if err == nil {
		forecast, err = m.Forecast(o.Change, o.Sites)
		err = refused(err)
		forecast.Warnings = append(forecast.Warnings, a.judgeTiming(&now, o.Timing)...)
	}
	if err != nil || o.DryRun {
		info := councilInfo(now)
		info.Forecast = &forecast
		return info, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go a.untilDecided(ctx, m, o, cancel)
	now, err = m.Change(ctx, o.Change)
	a.statusCache.forget()
	info := councilInfo(now)
	info.Forecast, info.Done = &forecast, err == nil
	if errors.Is(err, context.DeadlineExceeded) {
		return info, nil // it goes on
	}
	return info, refused(err)
}

// untilDecided ends the wait for a change when its time has passed. It goes on for a while if members have neither agreed on it nor refused it.
func (a *Agent) untilDecided(ctx context.Context, m *regent.Member, o *api.CouncilOrder, cancel context.CancelCauseFunc) {
	wait := min(councilWait, max(acceptWait, o.Wait))
	late := time.After(max(wait, decisionWait))
	look := time.NewTimer(wait)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late:
			cancel(context.DeadlineExceeded)
			return
		case <-look.C:
			if c := m.Council(); !c.Running() || (c.Goal == nil) == o.Cancel {
				cancel(context.DeadlineExceeded)
				return
			}
			look.Reset(acceptWait / 5)
		}
	}
}

// refused gives an error of a change its HTTP status.
func refused(err error) error {
	switch {
	case errors.Is(err, roster.ErrNoQuorum):
		return api.WithStatus(http.StatusServiceUnavailable, err)
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, regent.ErrClosed):
		return api.WithStatus(http.StatusConflict, err)
	}
	return err
}

// judgeChange refuses a change that leaves no council, and one that leaves less than an operator may expect unless that is
// confirmed.
func judgeChange(now *roster.Council, c *roster.Change, yes bool) error {
	if c.Cancel {
		if len(c.Add)+len(c.Remove)+len(c.Set) > 0 || c.Timing != nil {
			return api.Errorf(http.StatusBadRequest, "cancel with add, remove, set or timing: choose one")
		}
		return nil
	}
	if len(c.Add)+len(c.Remove)+len(c.Set) == 0 && (c.Timing == nil || *c.Timing == roster.Timing{}) {
		return api.Errorf(http.StatusBadRequest, "nothing to change (name members to add, remove or set, or timing)")
	}
	after := membersAfter(now.Members, c)
	voters, leaders := 0, 0
	for i := range after {
		if !after[i].Observer {
			voters++
		}
		if !after[i].Observer && !after[i].Witness {
			leaders++
		}
	}
	before := councilInfo(*now)
	names := strings.Join(peerNames(after), " ")
	switch {
	case len(after) == 0:
		return api.Errorf(http.StatusConflict, "no member would be left: nothing has changed (stop the agents instead)")
	case leaders == 0:
		return api.Errorf(http.StatusConflict, "no member that may lead would be left among %s: nothing has changed (add one first)", names)
	case tolerated(voters) == 0 && before.Tolerates > 0 && !yes:
		return api.Errorf(http.StatusConflict, "%s would be left, and the council would tolerate no failure: nothing has changed (pass --yes to go on)", names)
	}
	return nil
}

// judgeTiming says what another timing means that an operator may not expect.
func (a *Agent) judgeTiming(now *roster.Council, change *roster.Timing) (warnings []string) {
	next := now.Timing.Over(change)
	if next.Drift != now.Timing.Drift {
		warnings = append(warnings, "local and eventual groups begin anew under another drift")
	}
	file := a.Config()
	longest := file.ProgramLease()
	for i := range file.Leases {
		longest = max(longest, file.Leases[i].Lease)
	}
	if next.LongestLease < now.Timing.LongestLease && next.LongestLease < longest {
		warnings = append(warnings, fmt.Sprintf("leases of up to %v in the file of %s will last %v (lease and leases)", longest, a.Name, next.LongestLease))
	}
	return warnings
}

// membersAfter returns the members that a change leads to.
func membersAfter(members []roster.Member, c *roster.Change) []regent.Peer {
	var out []regent.Peer
	for i := range members {
		m := &members[i]
		if !m.New && !slices.Contains(c.Remove, m.Name) {
			out = append(out, m.Peer)
		}
	}
	for _, p := range slices.Concat(c.Set, c.Add) {
		out = slices.DeleteFunc(out, func(o regent.Peer) bool { return o.Name == p.Name })
		out = append(out, p)
	}
	return out
}

func peerNames(peers []regent.Peer) []string {
	var out []string
	for i := range peers {
		out = append(out, peers[i].Name)
	}
	slices.Sort(out)
	return out
}

// FollowCouncil enters the names of members that come, so that causes can name them, and notes changes that are over, and that this host was removed.
func (a *Agent) FollowCouncil(c roster.Council) {
	if change := a.councilTrack.See(time.Now(), &c); change != nil {
		a.ChangeLog.AddCouncil(api.CouncilChange{Change: *change})
	}
	if c.Removed {
		a.removeOnce.Do(func() { close(a.Removed) })
		return
	}
	for i := range c.Members {
		a.Names.Enter(c.Members[i].Name)
	}
}
