package regent

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// A Mode is the promise that a group gives.
type Mode = view.Mode

// The modes. [Group], [LocalGroup], [EventualGroup] and [ConsistentGroup] describe what each promises.
const (
	Quorum     = view.Quorum     // at most one leader anywhere
	Local      = view.Local      // one leader in every part of the network that holds together
	Eventual   = view.Eventual   // one leader on which all members agree in the end
	Consistent = view.Consistent // a fault manager, over members that all agree on
)

// A Cause is the reason for a change: its kind, the member that it is about, and a length of time where there is one. Package why
// lists the kinds.
type Cause = why.Cause

// A View is what a member believes about a group: its leader, or that it has none, and why that changed. It is
// knowledge, not proof: see [Group.Verify]. Package view lists its fields. All modes, the agent and the command line have this one type.
type View = view.View

// An Agreement is one agreement of a [ConsistentGroup] on its members.
type Agreement = view.Agreement

// modes are the modes of domains.
var modes = [...]Mode{protocol.Elector: Eventual, protocol.Quorum: Quorum, protocol.Local: Local, protocol.Consistent: Consistent}

// noView is the view of a group of which nothing is known yet.
func noView(mode Mode, group protocol.Group) View {
	return View{Group: plainName(group), Mode: mode, Cause: Cause{Why: why.Started}}
}

// view returns what the loop has published, with names.
func (m *Member) view(c *runtime.Change) View {
	v := View{Group: plainName(c.Group), Mode: modes[c.Domain], Mine: c.Tenure != 0, Stopping: c.Stop, Cause: m.cause(c.Cause), At: time.Unix(0, c.Wall)}
	if c.Domain == protocol.Consistent && c.Agreed == nil {
		return v
	}
	all := m.council()
	v.Leader = all.name(c.Leader.Rank)
	switch c.Domain {
	case protocol.Quorum:
		v.Token, v.Lease = c.Term, c.Length
		if c.Value != nil {
			v.Value = c.Value.Text
		}
	case protocol.Local:
		v.Support = all.set(*c.Support)
	case protocol.Elector:
		v.Round, v.Mine = c.Term, c.Leader.Rank == all.self
	case protocol.Consistent:
		v.Leader = all.nameAt(c.Leader.Rank, c.Agreed.Number)
		v.Token, v.Mine, v.Agreement = c.Term, v.Leader == m.config.Name, all.agreement(c)
	}
	return v
}

// agreement names those that an agreement is about, by the configuration of the council in which each of them had its rank.
func (c *council) agreement(change *runtime.Change) *Agreement {
	a := change.Agreed
	out := &Agreement{Number: a.Vid, Members: c.setAt(*change.Support, a.Number), Failed: c.setAt(a.Failed, a.Before), Joined: c.setAt(a.Joined, a.Number), Unfinished: []string{},
		Recover: a.Recover, Stalled: c.name(a.Stalled)}
	for i := range a.Unfinished {
		out.Unfinished = append(out.Unfinished, c.setAt(a.Unfinished[i].Members, a.Unfinished[i].Number)...)
	}
	return out
}

func (m *Member) cause(c protocol.Cause) Cause {
	return Cause{Why: why.Kind(c.Code), Member: m.council().name(c.Peer), Bound: c.Bound}
}

// shown says that a change is no news to a watcher that has seen noView.
func shown(c *runtime.Change, v *View) bool {
	return c.Number == 1 && v.Leader == "" && v.Cause.Why == why.Started
}
