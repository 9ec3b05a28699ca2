package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// A group is what is known of an election.
type group struct {
	mode    web.Mode
	name    string
	leads   map[string]lead
	views   map[string]web.Sight
	changed time.Duration
	cause   string
	changes int
}

// lead is one leadership that lasts.
type lead struct {
	id           string
	term, tenure uint64
	horizon      uint64
	since        time.Duration
	// until is the end of the lease in time of the run, and length how long it was when it was last renewed; zero where
	// there are no leases.
	until, length time.Duration
	support       []string
	stopping      bool
}

func newGroup(mode web.Mode, name string) *group {
	return &group{mode: mode, name: name, leads: make(map[string]lead), views: make(map[string]web.Sight)}
}

func (g *group) clone() *group {
	c := *g
	c.leads, c.views = maps.Clone(g.leads), maps.Clone(g.views)
	return &c
}

// electors is the name of the election that electors hold: they have no groups.
const electors = "elector"

var modes = map[string]web.Mode{"quorum": web.Quorum, "local": web.Local, "consistent": web.Consistent, "elector": web.Eventual}

// election returns which election a line is about.
func election(r *record) (web.Mode, string, bool) {
	switch r.Ev {
	case "view", "weak", "lease", "stepdown":
	default:
		return "", "", false
	}
	mode, ok := modes[r.Dom]
	name := r.Group
	if name == "" {
		name = electors
	}
	return mode, name, ok
}

func (w *world) group(mode web.Mode, name string) *group {
	for _, g := range w.groups {
		if g.mode == mode && g.name == name {
			return g
		}
	}
	return nil
}

// elect notes lines that are about who leads.
func (w *world) elect(r *record) {
	if r.Ev == "horizon" {
		w.renew(r)
		return
	}
	mode, name, ok := election(r)
	if !ok {
		return
	}
	g := w.group(mode, name)
	switch r.Ev {
	case "view", "weak":
		w.view(g, r)
	case "lease":
		w.lease(g, r)
	case "stepdown":
		w.end(g, r.Node, r.T, r.Why)
		w.note(r, g.name, fmt.Sprintf("%s no longer leads: %s", r.Node, r.Why), "bad")
		g.change(r.T, r.Why+" "+r.Node)
	}
}

// view notes what a member believes.
func (w *world) view(g *group, r *record) {
	leader := r.peer()
	before, known := g.views[r.Node]
	g.views[r.Node] = web.Sight{Member: r.Node, Leader: leader, Cause: r.Why}
	l, leads := g.leads[r.Node]
	if leads && leader == r.Node && l.stopping != r.Stop {
		l.stopping = r.Stop
		g.leads[r.Node] = l
	}
	if known && before.Leader == leader {
		return
	}
	// Electors have no leases: who believes in itself leads as far as it knows.
	if r.Dom == "elector" || r.Dom == "consistent" {
		if leader == r.Node && !leads {
			w.begin(g, r, lead{})
		} else if leader != r.Node && leads {
			w.end(g, r.Node, r.T, r.Why)
		}
	}
	switch {
	case leader == r.Node:
	case leader == "":
		w.note(r, g.name, because(r.Node+" sees no leader", r.Why), "")
	default:
		w.note(r, g.name, because(r.Node+" follows "+leader, r.Why), "")
	}
	if r.Dom == "elector" || r.Dom == "consistent" {
		g.change(r.T, r.Why)
	}
}

func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}

// lease notes a lease that was gained, renewed or moved.
func (w *world) lease(g *group, r *record) {
	until := w.real(r.Node, r.Until)
	l, ok := g.leads[r.Node]
	if !ok || l.tenure != r.Tenure {
		if ok {
			w.end(g, r.Node, r.T, "followed by its next one")
		}
		w.begin(g, r, lead{term: r.Term, tenure: r.Tenure, horizon: r.Seq, until: until, length: until - r.T, support: r.Members})
		g.change(r.T, "elected "+r.Node)
		return
	}
	l.until, l.length, l.horizon = until, max(l.length, until-r.T), r.Seq
	if len(r.Members) > 0 {
		l.support = r.Members
	}
	g.leads[r.Node] = l
}

// renew notes that all leases behind a horizon last longer.
func (w *world) renew(r *record) {
	for _, g := range w.groups {
		if l, ok := g.leads[r.Node]; ok && l.horizon == r.Seq && g.mode == web.Quorum {
			l.until = w.real(r.Node, r.Until)
			l.length = max(l.length, l.until-r.T)
			g.leads[r.Node] = l
		}
	}
}

// begin notes that a member leads.
func (w *world) begin(g *group, r *record, l lead) {
	w.number++
	l.id, l.since = fmt.Sprint(w.number), r.T
	g.leads[r.Node] = l
	w.tenures = append(w.tenures, web.Tenure{ID: l.id, Group: g.name, Mode: g.mode, Member: r.Node, Token: l.term, Local: g.mode == web.Local, From: r.T})
	if n := len(w.tenures) - tenuresKept; n > 0 {
		w.tenures = slices.Delete(w.tenures, 0, n)
	}
	text := r.Node + " leads"
	if l.term != 0 {
		text = fmt.Sprintf("%s leads with token %d", r.Node, l.term)
	}
	if g.mode == web.Local && len(l.support) > 0 {
		text = fmt.Sprintf("%s leads %s", r.Node, strings.Join(l.support, " "))
	}
	w.note(r, g.name, text, "good")
}

// end notes that a member no longer leads. A lease that ran out before ended then: its holder asks the clock.
func (w *world) end(g *group, node string, at time.Duration, why string) {
	l, ok := g.leads[node]
	if !ok {
		return
	}
	delete(g.leads, node)
	evidence := "the member stepped down, by the trace"
	if l.until > 0 && l.until < at {
		at, evidence = l.until, "the lease ran out by the holder's own clock, before it stepped down"
	}
	for i := range slices.Backward(w.tenures) {
		if w.tenures[i].ID == l.id {
			w.tenures[i].To, w.tenures[i].Cause, w.tenures[i].Evidence = at, why, evidence
			return
		}
	}
}

// gone notes that a member is down, and leads nothing.
func (w *world) gone(r *record) {
	for _, g := range w.groups {
		if _, ok := g.leads[r.Node]; ok {
			w.end(g, r.Node, r.T, r.Ev)
			g.change(r.T, r.Ev+" "+r.Node)
		}
		delete(g.views, r.Node)
	}
}

func (g *group) change(at time.Duration, cause string) {
	g.changed, g.cause = at, cause
	g.changes++
}
