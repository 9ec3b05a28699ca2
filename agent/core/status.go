package core

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"os"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// Status returns how the agent and its member are, without the id of the council.
func (a *Agent) Status() api.AgentStatus {
	a.mu.Lock()
	out := api.AgentStatus{Version: a.Version, Pid: os.Getpid(), Started: a.started, Groups: len(a.groups), Sessions: len(a.books), Stopping: a.closing}
	a.mu.Unlock()
	out.Name, out.Streams, out.DefaultGroup = a.Name, a.streams.Load(), a.Config().DefaultGroup
	out.Timing = a.timingInfo()
	m := a.joining.Load()
	if m == nil {
		out.Waiting = "it is being started"
		if f := a.founding.Load(); f != nil {
			out.Waiting = f.waiting
			c := f.counts()
			out.PacketsIn, out.PacketsOut, out.BytesIn, out.BytesOut, out.Dropped = c.PacketsIn, c.PacketsOut, c.BytesIn, c.BytesOut, c.Dropped
		}
		return out
	}
	s, _, at := a.statusCache.get(m)
	switch joined := a.joinedAt.Load(); {
	case joined != nil && s.Incarnation == 0 && at.Before(*joined): // what was seen is of a moment before
		s.Waiting = ""
	case joined != nil && s.Incarnation == 0 && s.Waiting == "":
		s.Waiting = "it has no incarnation"
	case joined != nil:
	case s.Waiting == "":
		s.Waiting = "it is about to"
	}
	s.CouncilID = ""
	out.Status, out.Joined, out.Council = s, s.Waiting == "", a.statusCache.present()
	return out
}

// Members returns the council, as this member knows it; nil before the member speaks to others.
func (a *Agent) Members() []regent.PeerStatus {
	m := a.joining.Load()
	if m == nil {
		return nil
	}
	_, peers, _ := a.statusCache.get(m)
	return peers
}

// Info shows a group.
func (a *Agent) Info(c *api.Change) api.GroupInfo {
	_, n := a.ChangeLog.Group(c.Group)
	out := api.GroupInfo{Change: *c, Changes: n}
	_, out.Remaining = a.LeadsHere(c)
	return out
}

// Sessions lists the programs that take part, in one group or in all.
func (a *Agent) Sessions(group string) []api.SessionInfo {
	out := []api.SessionInfo{}
	for _, k := range a.Candidates() {
		if group == "" || k.Group == group {
			out = append(out, k.info())
		}
	}
	return out
}

// info shows a candidate.
func (k *Candidate) info() api.SessionInfo {
	out := api.SessionInfo{ID: k.id, Group: k.Group, Program: k.Name, Via: k.Via, Pid: k.Pid, Since: k.since, State: "waiting", Left: k.remaining(), Lease: k.LeaseLength()}
	out.Token = k.Token()
	k.mu.Lock()
	if !k.led.IsZero() {
		out.Since = k.led
	}
	k.mu.Unlock()
	switch k.life.State() {
	case tenure.Waiting:
	case tenure.Leading:
		out.State = "leading"
		out.Addresses = k.addresses()
		k.mu.Lock()
		out.Duplicates = maps.Clone(k.duplicates)
		k.mu.Unlock()
	default:
		out.State = "stopping"
	}
	return out
}

// remaining is how long the program leads by the end that was announced; zero if it does not.
func (k *Candidate) remaining() time.Duration {
	l := k.held()
	if l == nil {
		return 0
	}
	return min(l.Remaining(), max(0, k.Announced().Sub(k.agent.Now())))
}

// Verify proves who leads a group that was heard of.
func (a *Agent) Verify(ctx context.Context, group string) (*regent.Proof, error) {
	m, err := a.currentMember()
	if err != nil {
		return nil, err
	}
	c, _ := a.ChangeLog.Group(group)
	if c == nil {
		return nil, a.UnknownGroup(group)
	}
	if c.Mode != regent.Quorum {
		return nil, api.Errorf(http.StatusConflict, "group %s is %s: no leader of it can be proven", group, c.Mode)
	}
	ctx, cancel := context.WithTimeout(ctx, OrderTimeout)
	defer cancel()
	done, err := a.acquireVerifySlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g, err := m.Group(group)
	if err != nil {
		return nil, err
	}
	return proveInTime(ctx, g.Verify)
}

// Views asks all members who leads a quorum group that was heard of.
func (a *Agent) Views(ctx context.Context, group string) ([]view.MemberView, error) {
	m, err := a.currentMember()
	if err != nil {
		return nil, err
	}
	if c, _ := a.ChangeLog.Group(group); c == nil || c.Mode != regent.Quorum {
		return nil, api.Errorf(http.StatusNotFound, "group %.40q: no quorum group of that name is known", group)
	}
	ctx, cancel := context.WithTimeout(ctx, OrderTimeout)
	defer cancel()
	done, err := a.acquireVerifySlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return m.Views(ctx, group)
}

var ErrLateProof = api.Errorf(http.StatusServiceUnavailable, "the proof came too late: this host may be very busy (ask again)")

// proofTries is how often a proof is asked for that comes too late each time: then the network is slower than was configured.
const proofTries = 5

// proveInTime asks until a proof holds when it comes, which it may not on a host that was paused meanwhile.
func proveInTime[P interface{ Remaining() time.Duration }](ctx context.Context, ask func(context.Context) (P, error)) (P, error) {
	for range proofTries {
		p, err := ask(ctx)
		if err != nil || p.Remaining() > session.Skew { // by which programs get less
			return p, err
		}
	}
	var none P
	return none, ErrLateProof
}

// Role returns what a role endpoint looks at. The lease is asked now.
func (a *Agent) Role(group string) api.RoleInfo {
	i := api.RoleInfo{Group: group, Role: "replica", State: "waiting", Member: a.Name, Cause: regent.Cause{Why: why.Started}}
	if c, _ := a.ChangeLog.Group(group); c != nil {
		i.Name, i.Token, i.Cause = c.Leader, c.Token, c.Cause
	}
	if a.member.Load() != nil { // one that has joined once takes part until it leaves
		i.State = "running"
	}
	if left := a.localRemaining(group); left > 0 {
		i.Name, i.Role, i.Remaining = a.Name, "standby_leader", left
		return i
	}
	k := a.Leader(group)
	if k == nil {
		return i
	}
	if left := k.remaining(); left > 0 && k.LeadsNow() {
		i.Name, i.Role, i.Token, i.Remaining = a.Name, "primary", k.CurrentLease().Token(), left
	} else if i.Name == a.Name {
		i.Name = "" // it did, until a moment ago
	}
	return i
}

// UnknownGroup says of a group that the member has not heard of whether that means anything.
func (a *Agent) UnknownGroup(group string) error {
	if waiting := a.Status().Waiting; waiting != "" {
		return api.Errorf(http.StatusServiceUnavailable, "group %.40q: %w is known yet to %s: %s", group, regent.ErrNoLeader, a.Name, waiting)
	}
	return api.Errorf(http.StatusNotFound, "group %.40q: %w is known: no program has campaigned for it lately, as far as %s knows", group, regent.ErrNoLeader, a.Name)
}

// TakesPart says whether this host takes part in a group: a program of its own does, the configuration lists the group, or
// it is the default one.
func (a *Agent) TakesPart(c *api.Change) bool {
	if c.Mode != regent.Quorum || c.Group == a.Config().DefaultGroup {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.groups[c.Group] > 0
}

// NotReady returns why the member does not take part, or what is wrong with its clock and its disk; empty if all is well.
func (a *Agent) NotReady() string {
	s := a.Status()
	switch {
	case s.Waiting != "":
		return s.Waiting
	case s.Disk != "":
		return "the durable record cannot be written: " + s.Disk
	case s.ClockFault:
		return api.ClockAdvice
	case s.Stopping:
		return "the agent is stopping"
	}
	return ""
}

// CouncilID returns the id of the council; empty before the member knows it.
func (a *Agent) CouncilID() string {
	m := a.speaking()
	if m == nil {
		return ""
	}
	s, _, _ := a.statusCache.get(m)
	return s.CouncilID
}

// speaking returns the member, also before it takes part; nil before it speaks to others.
func (a *Agent) speaking() *regent.Member { return a.joining.Load() }

// Metrics yields those of the member: of one that waits for the id of its council, no more than its packets.
func (a *Agent) Metrics() iter.Seq[regent.Metric] {
	m, f := a.speaking(), a.founding.Load()
	switch {
	case m != nil:
		return m.Metrics()
	case f == nil:
		return func(func(regent.Metric) bool) {}
	}
	return func(yield func(regent.Metric) bool) {
		counts, done := f.counts(), false
		counts.Metrics(func(name, help string, value float64, labels ...string) {
			done = done || !yield(regent.Metric{Name: name, Help: help, Counter: true, Value: value, Labels: labels})
		})
	}
}
