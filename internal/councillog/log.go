// Package councillog turns what members show of their council into one entry for each change that is over. It is for people: the agent's history
// and the demonstration have these entries.
package councillog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent/roster"
)

// A Change is a change of the council that is over.
type Change struct {
	// At is when the member had settled in the council as it is since, which has that Number.
	At     time.Time `json:"at"`
	Number uint64    `json:"number"`
	// Cause says in words what became of the members, and By at which member that was asked for.
	Cause string `json:"cause"`
	By    string `json:"by,omitempty"`
	// Took is how long the member saw the change run.
	Took time.Duration `json:"took_ns"`
}

// String shows the change for people: "member d added, number 7, took 210ms, asked for at a".
func (c *Change) String() string {
	text := fmt.Sprintf("%s, number %d", c.Cause, c.Number)
	if c.Took > 0 {
		text += fmt.Sprintf(", took %v", rounded(c.Took))
	}
	if c.By != "" {
		text += ", asked for at " + c.By
	}
	return text
}

// rounded returns a length of time with three figures.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// A Track follows a council. The zero value has seen nothing yet.
type Track struct {
	mu sync.Mutex
	// before is the council as it was when no change was running; nil: nothing was seen yet.
	before *roster.Council
	// began is when the running change was seen first, and goal what it was to lead to.
	began time.Time
	goal  []roster.Peer
	by    string
}

// See takes the council as it is now. It returns the change that is over with that; nil if none is.
func (t *Track) See(now time.Time, c *roster.Council) *Change {
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
	out := &Change{At: now, Number: c.Number, Cause: t.cause(c), By: t.by, Took: now.Sub(t.began)}
	t.before, t.began, t.goal, t.by = c, time.Time{}, nil, ""
	return out
}

// cause says in words what the change did.
func (t *Track) cause(c *roster.Council) string {
	text := c.Difference(t.before)
	meant := roster.Council{}
	for i := range t.goal {
		meant.Members = append(meant.Members, roster.Member{Peer: t.goal[i]})
	}
	switch {
	case c.Removed:
		return "this member removed"
	case t.goal != nil && !sameMembers(&meant, c) && text == "":
		return "change " + cmp.Or(c.Ended, "cancelled")
	case t.goal != nil && !sameMembers(&meant, c):
		return "change " + cmp.Or(c.Ended, "cancelled") + ": " + text
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
