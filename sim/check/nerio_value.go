package check

import (
	"maps"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Values is N-VAL. A member shows a value of a group only together with the leader that announced it, and only one that this leader
// announced in the leadership with that token. While it is up it never shows a lower pair of token and version after a higher one. And
// while all is well every member that must converge shows, a bound after the announcement, this value or a later one.
type Values struct {
	truth Truth
	bound time.Duration
	// said are the texts that programs announced, and set the values that the leaders' own members then showed.
	said map[saying]bool
	set  map[leadership]*announcements
	// begins are the texts with which leaderships of each member may begin: those of its campaigns since it last resigned.
	// A member that is restored from a snapshot remembers campaigns of any time before: ever are the texts of all.
	begins, ever map[candidacy]map[string]bool
	// shown is what each member shows now, and highest its highest value of each group.
	shown   []map[protocol.Group]*protocol.View
	highest []map[protocol.Group]protocol.Value
	core    protocol.Set
	good    sim.Real
}

type saying struct {
	by     protocol.Ident
	group  protocol.Group
	tenure uint64
	text   string
}

type candidacy struct {
	node  protocol.Rank
	group protocol.Group
}

type leadership struct {
	group  protocol.Group
	leader protocol.Ident
	token  uint64
}

// announcements are the values of one leadership, the first of which has the version 1, and when each was announced.
type announcements struct {
	texts []string
	at    []sim.Real
}

// NewValues returns the checker. Without a bound it does not ask for values in the end.
func NewValues(t Truth, bound time.Duration) *Values {
	v := &Values{truth: t, bound: bound, said: make(map[saying]bool), set: make(map[leadership]*announcements),
		begins: make(map[candidacy]map[string]bool), ever: make(map[candidacy]map[string]bool), good: sim.Forever}
	v.shown = make([]map[protocol.Group]*protocol.View, t.Members())
	v.highest = make([]map[protocol.Group]protocol.Value, t.Members())
	return v
}

// Name returns N-VAL.
func (c *Values) Name() string { return "N-VAL" }

// Observe judges every view of a quorum group.
func (c *Values) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvPhase:
		c.good = sim.Forever
		if r.Why == sim.Liveness {
			c.core, c.good = r.Members, r.T
		}
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		c.shown[r.Node], c.highest[r.Node] = nil, nil
		maps.DeleteFunc(c.begins, func(k candidacy, _ map[string]bool) bool { return k.node == r.Node })
		if r.Why == sim.Snapshot.String() {
			for who, texts := range c.ever {
				if who.node == r.Node {
					c.begins[who] = maps.Clone(texts)
				}
			}
		}
	case sim.EvCommand:
		c.command(r)
	case sim.EvView:
		if r.Dom == protocol.Quorum {
			return c.view(r, r.Detail.(*protocol.View))
		}
	}
	return nil
}

func (c *Values) command(r *sim.Record) {
	text, _ := r.Detail.(string)
	who := candidacy{r.Node, r.Group}
	switch {
	case r.Why == "announce":
		c.said[saying{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Group, r.Tenure, text}] = true
	case r.Why == "resign":
		delete(c.begins, who)
	case r.Why == "campaign" && text != "":
		for _, m := range []map[candidacy]map[string]bool{c.begins, c.ever} {
			if m[who] == nil {
				m[who] = make(map[string]bool)
			}
			m[who][text] = true
		}
	}
}

func (c *Values) view(r *sim.Record, v *protocol.View) error {
	if c.shown[r.Node] == nil {
		c.shown[r.Node] = make(map[protocol.Group]*protocol.View)
		c.highest[r.Node] = make(map[protocol.Group]protocol.Value)
	}
	kept := *v
	c.shown[r.Node][r.Group] = &kept
	if v.Value == nil {
		return nil
	}
	l := leadership{r.Group, v.Leader, v.Term}
	if v.Tenure != 0 {
		if err := c.announce(r, v, l); err != nil {
			return err
		}
	}
	a := c.set[l]
	switch n := v.Value.Version; {
	case v.Value.Token != v.Term:
		return Violatedf(c.Name(), r.T, "%v shows that %v leads %q with token %d and a value of token %d", r.Node, v.Leader, r.Group, v.Term, v.Value.Token)
	case a == nil || n == 0 || n > uint64(len(a.texts)) || a.texts[n-1] != v.Value.Text:
		return Violatedf(c.Name(), r.T, "%v shows %q, version %d, as the value of %v in %q with token %d, which announced no such value",
			r.Node, v.Value.Text, n, v.Leader, r.Group, v.Term)
	}
	if old, ok := c.highest[r.Node][r.Group]; ok && old.After(v.Value) {
		return Violatedf(c.Name(), r.T, "%v shows version %d of token %d in %q after version %d of token %d", r.Node, v.Value.Version, v.Value.Token,
			r.Group, old.Version, old.Token)
	}
	c.highest[r.Node][r.Group] = *v.Value
	return nil
}

// announce takes note of a value that the leader's own member shows for the first time.
func (c *Values) announce(r *sim.Record, v *protocol.View, l leadership) error {
	a := c.set[l]
	if a == nil {
		a = new(announcements)
		c.set[l] = a
	}
	if v.Value.Version != uint64(len(a.texts))+1 {
		return nil // it was seen before, or is none
	}
	begins := len(a.texts) == 0 && c.begins[candidacy{r.Node, r.Group}][v.Value.Text]
	if !begins && !c.said[saying{v.Leader, r.Group, v.Tenure, v.Value.Text}] {
		return Violatedf(c.Name(), r.T, "%v shows %q as its value in %q, and no program of it said so", r.Node, v.Value.Text, r.Group)
	}
	a.texts, a.at = append(a.texts, v.Value.Text), append(a.at, r.T)
	return nil
}

// Finish looks whether everybody has what was announced in good time.
func (c *Values) Finish() error {
	now := c.truth.Now()
	if c.bound == 0 || c.good == sim.Forever || now.Sub(c.good) < c.bound {
		return nil
	}
	for r := range c.core.All() {
		for _, g := range slices.Sorted(maps.Keys(c.shown[r])) {
			v := c.shown[r][g]
			a := c.set[leadership{g, v.Leader, v.Term}]
			if a == nil || !c.truth.Up(r) || !c.truth.Up(v.Leader.Rank) || !c.core.Has(v.Leader.Rank) || c.stops(g, v) {
				continue
			}
			due := uint64(0)
			for n, at := range a.at {
				if now.Sub(at) >= c.bound {
					due = uint64(n) + 1
				}
			}
			if due > 0 && (v.Value == nil || v.Value.Version < due) {
				return Violatedf(c.Name(), now, "%v shows %+v as the value of %v in %q with token %d, which announced version %d at %v", r, v.Value, v.Leader, g,
					v.Term, due, a.at[due-1])
			}
		}
	}
	return nil
}

// stops says whether the leader of a view is asked to stop, or leads no more: then it owes nobody its value.
func (c *Values) stops(g protocol.Group, v *protocol.View) bool {
	own := c.shown[v.Leader.Rank][g]
	return own == nil || own.Leader != v.Leader || own.Term != v.Term || own.Stop
}
