package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
)

// actions is what an agent can be asked for. It passes orders on to the host whose program leads.
var actions = []web.Action{
	{Verb: "resign", On: "group", Label: "Resign", Help: "ask the program that leads to stop, on whatever host, and give the group up", Key: "g", Grave: true,
		Confirm: "Ask the program that leads {what} to stop, and give the group up?"},
	{Verb: "transfer", On: "group", Label: "Hand over to", Help: "ask the program that leads to stop, on whatever host, and hand the group over",
		Confirm: "Ask the program that leads {what} to stop, and hand the group over to {to}?"},
	{Verb: "drain", On: "member", Label: "Drain", Help: "move all leadership away from it, and keep it away, also after a restart", If: []string{"undrained"}, Grave: true,
		Confirm: "Drain {what}? It hands over all that it leads, and leads nothing until it is undrained, also after a restart. It votes as before."},
	{Verb: "undrain", On: "member", Label: "Undrain", Help: "let its programs lead again", If: []string{"drained"}, Confirm: "Let programs of {what} lead again?"},
}

// state returns what an agent knows, as the page shows it.
func state(status *api.AgentStatus, members []regent.PeerStatus, groups []api.GroupInfo, changes []api.Change, council []api.CouncilChange, now time.Duration) *web.State {
	st := &web.State{About: web.About{Kind: "agent", Title: "agent of " + status.Name, Self: status.Name, Began: status.Started.UnixMilli(), Polls: true, Fast: status.Timing.Delay, Actions: actions}}
	if e := status.Engine; e != nil {
		st.About.Title += fmt.Sprintf(", on %s at %s (without %s)", e.Name, e.Where, strings.Join(e.Missing, ", "))
		st.About.Actions, st.About.Polls = actions[:1], false
		if e.Fault != "" {
			st.About.Alarm = fmt.Sprintf("the engine %s does not answer: %s", e.Name, e.Fault)
		}
	}
	if status.ClockFault {
		st.About.Alarm = "the clock of this member runs at another rate than those of the others: it leads nothing until that is over"
	}
	for i := range members {
		m := &members[i]
		st.Members = append(st.Members, member(status, m))
		if !m.Self {
			st.Links = append(st.Links, link(status, m))
		}
	}
	if len(members) == 0 { // it does not take part yet
		st.Members = []web.Member{{Name: status.Name, State: web.Joining, Problem: status.Waiting}}
	}
	since := func(t time.Time) time.Duration { return max(0, t.Sub(status.Started)) }
	if c := status.Council; c != nil {
		st.About.Council = web.CouncilOf(&c.Council, since(c.Since))
		for i := range st.Members {
			st.Members[i].Take(&c.Council)
		}
	}
	for i := range groups {
		st.Groups = append(st.Groups, group(status, &groups[i], since, now))
	}
	st.Tenures, st.Log = past(changes, since)
	for i := range council {
		c := &council[i]
		st.Log = append(st.Log, web.Entry{ID: c.Serial, At: since(c.At), Text: "council: " + c.String()})
	}
	slices.SortFunc(st.Log, func(a, b web.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return st
}

func member(status *api.AgentStatus, m *regent.PeerStatus) web.Member {
	out := web.Member{Name: m.Name, State: web.Up, Problem: m.Problem, Incarnation: m.Incarnation, Drained: m.Drained, Key: m.Key, KeyProblem: m.KeyProblem}
	if m.Revoked {
		out.KeyProblem = "its key was revoked here"
	}
	switch {
	case m.Self:
		tells(&out, status)
		out.Problem = status.Waiting
		if out.Problem != "" {
			out.State = web.Joining
		} else if status.Disk != "" {
			out.Problem = "its record cannot be written: " + status.Disk
		}
	case !m.Heard || m.Silent:
		out.State = web.Silent
		if out.Problem == "" && m.Heard {
			out.Problem = "not heard for " + view.Span(m.Silence)
		} else if out.Problem == "" {
			out.Problem = "not heard yet"
		}
	}
	return out
}

// tells shows what a member says of itself.
func tells(m *web.Member, status *api.AgentStatus) {
	m.Tells, m.Leading, m.Realtime = true, status.Leading, status.Realtime
	m.PacketsIn, m.PacketsOut = status.PacketsIn, status.PacketsOut
	m.Pauses = web.PausesOf(&status.Status, status.Timing.Survives)
}

// link returns how a member hears another.
func link(status *api.AgentStatus, m *regent.PeerStatus) web.Link {
	l := web.Link{From: m.Name, To: status.Name, State: web.Unknown}
	if m.Heard && !m.Silent {
		l.Bound, l.RoundTrip = m.Bound.Round(10*time.Microsecond), m.RoundTrip.Round(10*time.Microsecond)
		l.State = web.Slow
		if m.Fast {
			l.State = web.Fast
		}
	}
	return l
}

func group(status *api.AgentStatus, g *api.GroupInfo, since func(time.Time) time.Duration, now time.Duration) web.Group {
	out := web.Group{Name: names.Label(g.Group), Mode: web.Mode(g.Mode), Changed: since(g.At), Cause: g.Cause.String(), Changes: int(g.Changes)}
	if g.Leader == "" {
		return out
	}
	l := web.Leader{Member: g.Leader, Term: g.Token, Token: g.Token, Value: names.Show(g.Value), Since: since(g.At), Stopping: g.Stopping,
		Local: web.Mode(g.Mode) == web.Local, Support: g.Support}
	if g.Remaining > 0 { // only the leader knows how long
		l.Until, l.Lease = now+g.Remaining, max(g.Remaining, status.Timing.Lease)
	}
	out.Leaders = []web.Leader{l}
	return out
}
