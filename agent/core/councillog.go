package core

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// A councilTrack turns what a member shows of its council into one entry for each change that is over.
type councilTrack struct {
	mu sync.Mutex
	// before is the council as it was when no change was running; nil: nothing was seen yet.
	before *roster.Council
	// began is when the running change was seen first, and goal what it was to lead to.
	began time.Time
	goal  []roster.Peer
	by    string
}

// see takes the council as it is now. It returns the change that is over with that; nil if none is.
func (t *councilTrack) see(now time.Time, c *roster.Council) *api.CouncilChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.before == nil { // of a change that runs already, newcomers are known
		first := *c
		first.Members = slices.DeleteFunc(slices.Clone(c.Members), func(m roster.Member) bool { return m.New })
		t.before = &first
	}
	if t.began.IsZero() && (c.Running() || c.Number != t.before.Number || c.Removed) {
		t.began = now
	}
	if c.Goal != nil {
		t.goal, t.by = c.Goal, c.By
	}
	if c.Running() && !c.Removed || c.Number == t.before.Number && !c.Removed {
		if !c.Running() {
			t.began = time.Time{} // it was asked for and refused
		}
		return nil
	}
	out := &api.CouncilChange{At: now, Number: c.Number, Cause: t.cause(c), By: t.by, Took: now.Sub(t.began)}
	t.before, t.began, t.goal, t.by = c, time.Time{}, nil, ""
	return out
}

// cause says in words what the change did.
func (t *councilTrack) cause(c *roster.Council) string {
	text := c.Difference(t.before)
	meant := roster.Council{}
	for i := range t.goal {
		meant.Members = append(meant.Members, roster.Member{Peer: t.goal[i]})
	}
	switch {
	case c.Removed:
		return "this member removed"
	case t.goal != nil && !sameMembers(&meant, c) && text == "":
		return "change cancelled"
	case t.goal != nil && !sameMembers(&meant, c):
		return "change cancelled: " + text
	}
	return cmp.Or(text, "settings changed")
}

// sameMembers says whether two councils have members of the same names that do the same.
func sameMembers(a, b *roster.Council) bool {
	names := func(c *roster.Council) []string {
		var all []string
		for i := range c.Members {
			m := &c.Members[i]
			all = append(all, m.Name+roleMark(&m.Peer))
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(names(a), names(b))
}

// roleMark tells roles apart.
func roleMark(p *roster.Peer) string {
	switch {
	case p.Witness:
		return " w"
	case p.Observer:
		return " o"
	}
	return ""
}

// maxCouncilChanges is how many changes of the council are kept.
const maxCouncilChanges = 256

// AddCouncil takes note of a change of the council that is over, and gives it its number.
func (l *ChangeLog) AddCouncil(c api.CouncilChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	c.Serial = l.serial
	if len(l.council) == maxCouncilChanges {
		l.council = slices.Delete(l.council, 0, maxCouncilChanges/4)
	}
	l.council = append(l.council, &c)
	for w := range l.watchers {
		if w.group != "" {
			continue
		}
		select {
		case w.Council <- &c:
		default: // the next pulse has the council as it is
		}
	}
}

// Recent returns the last changes of groups and of the council, oldest first: as many as limit together.
func (l *ChangeLog) Recent(limit int) (groups []*api.Change, council []*api.CouncilChange) {
	groups = l.History("", limit)
	l.mu.RLock()
	council = slices.Clone(l.council[max(0, len(l.council)-limit):])
	l.mu.RUnlock()
	for len(groups)+len(council) > limit {
		if len(council) == 0 || len(groups) > 0 && groups[0].Serial < council[0].Serial {
			groups = groups[1:]
		} else {
			council = council[1:]
		}
	}
	return groups, council
}

// CouncilChanges returns the last changes of the council, oldest first.
func (a *Agent) CouncilChanges() []api.CouncilChange {
	_, found := a.ChangeLog.Recent(MaxChanges)
	out := make([]api.CouncilChange, len(found))
	for i, c := range found {
		out[i] = *c
	}
	return out
}
