package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
	"github.com/regentproject/regent/view"
)

// A group is what is known of an election.
type group struct {
	mode    web.Mode
	name    string
	leads   map[protocol.Rank]lead
	views   map[protocol.Rank]view.MemberView
	changed time.Duration
	cause   string
	changes int
	// agreement numbers what the members of a consistent group have agreed on last.
	agreement uint64
}

// lead is one leadership that lasts.
type lead struct {
	id    string
	token uint64
	since time.Duration
	// until is the end of the lease in time of the run, and length how long it was when it was last renewed; zero where
	// there are no leases.
	until, length time.Duration
	support       []string
	stopping      bool
}

func newGroup(mode web.Mode, name string) *group {
	return &group{mode: mode, name: name, leads: make(map[protocol.Rank]lead), views: make(map[protocol.Rank]view.MemberView)}
}

func (g *group) clone() *group {
	c := *g
	c.leads, c.views = maps.Clone(g.leads), maps.Clone(g.views)
	return &c
}

// electors is the name of the election that electors hold: they have no groups.
const electors = "elector"

var modes = map[protocol.Domain]web.Mode{protocol.Quorum: web.Quorum, protocol.Local: web.Local, protocol.Consistent: web.Consistent,
	protocol.Elector: web.Eventual}

// election returns which election a line is about.
func election(r *sim.Record) (web.Mode, string, bool) {
	switch r.Ev {
	case sim.EvView, protocol.EvWeak, protocol.EvLease, protocol.EvStepdown:
	default:
		return "", "", false
	}
	mode, ok := modes[r.Dom]
	if r.Group == "" {
		return mode, electors, ok
	}
	return mode, string(r.Group), ok
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
func (w *world) elect(r *sim.Record, did *ledger.Change) {
	if r.Ev == protocol.EvHorizon {
		for _, x := range did.Moved {
			w.renew(r, x)
		}
		return
	}
	mode, name, ok := election(r)
	if !ok {
		return
	}
	g := w.group(mode, name)
	switch r.Ev {
	case sim.EvView, protocol.EvWeak:
		w.view(g, r)
	case protocol.EvLease:
		w.lease(g, r, did)
	case protocol.EvStepdown:
		w.end(g, r, r.Why)
		w.tell(r, g.name, r.Node.String(), "no longer leads: "+stepped(r.Why), "bad")
		g.change(r, fmt.Sprintf("%s %v", r.Why, r.Node))
	}
}

// view notes what a member believes.
func (w *world) view(g *group, r *sim.Record) {
	w.agreed(g, r)
	before, known := g.views[r.Node]
	said := view.MemberView{Member: r.Node.String(), Answered: true, Leader: peer(r), Token: r.Term}
	l, leads := g.leads[r.Node]
	own := r.Peer.Rank == r.Node
	v, ok := r.Detail.(*protocol.View)
	if ok && v.Agreed != nil {
		said.Agreement = v.Agreed.Vid
	}
	if ok && (g.mode == web.Local || g.mode == web.Consistent) && !v.Support.Empty() {
		said.Support = names(v.Support)
	}
	g.views[r.Node] = said
	if leads && own && l.stopping != (ok && v.Stop) {
		l.stopping = !l.stopping
		g.leads[r.Node] = l
	}
	if known && before.Leader == peer(r) {
		return
	}
	// Electors have no leases: a member that believes in itself leads as far as it knows.
	leaseless := r.Dom == protocol.Elector || r.Dom == protocol.Consistent
	switch {
	case leaseless && own && !leads:
		w.begin(g, r, lead{})
	case leaseless && !own && leads:
		w.end(g, r, r.Why)
	}
	switch {
	case own:
	case r.Peer.Rank == protocol.Nobody && (!known || r.Why == "started" || r.Why == ""): // it has only begun
	case r.Peer.Rank == protocol.Nobody:
		w.tell(r, g.name, r.Node.String(), because("sees no leader", r.Why), "")
	default:
		w.tell(r, g.name, r.Node.String(), because(fmt.Sprintf("follows %v", r.Peer.Rank), r.Why), "")
	}
	if leaseless {
		g.change(r, r.Why)
	}
}

func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}

// lease notes a lease that was gained, renewed or moved.
func (w *world) lease(g *group, r *sim.Record, did *ledger.Change) {
	if did.Begun != nil {
		if len(did.Ended) > 0 {
			w.end(g, r, "followed by its next one")
		}
		w.begin(g, r, lead{token: did.Begun.Token, support: names(did.Begun.Support)})
		g.change(r, fmt.Sprintf("elected %v", r.Node))
	}
	for _, x := range did.Moved {
		w.renew(r, x)
	}
}

// renew notes when a lease ends and who supports it.
func (w *world) renew(r *sim.Record, x *ledger.Leadership) {
	g := w.group(modes[x.Domain], string(x.Group))
	l, ok := g.leads[r.Node]
	if !ok {
		return
	}
	l.until = w.real(r.Node, x.Until)
	l.length = max(l.length, l.until-time.Duration(r.T))
	if !x.Support.Empty() {
		l.support = names(x.Support)
	}
	g.leads[r.Node] = l
}

// begin notes that a member leads.
func (w *world) begin(g *group, r *sim.Record, l lead) {
	w.number++
	l.id, l.since = fmt.Sprint(w.number), time.Duration(r.T)
	g.leads[r.Node] = l
	w.tenures = append(w.tenures, web.Tenure{ID: l.id, Group: g.name, Mode: g.mode, Member: r.Node.String(), Token: l.token, Local: g.mode == web.Local, From: l.since})
	if n := len(w.tenures) - tenuresKept; n > 0 {
		w.tenures = slices.Delete(w.tenures, 0, n)
	}
	text := fmt.Sprintf("%v leads", r.Node)
	switch {
	case g.mode == web.Local && len(l.support) > 0:
		text += " its part of the network: " + strings.Join(l.support, " ")
	case g.mode == web.Eventual:
		text += ", as far as it knows"
	case g.mode == web.Consistent:
		text += ", as all agree"
	case l.token != 0:
		text += fmt.Sprintf(" with token %d", l.token)
	}
	// An elector may change its mind twice at one instant.
	twice := func(e web.Entry) bool { return e.Text == text && e.At == l.since && e.Group == g.name }
	if !slices.ContainsFunc(w.log[max(0, len(w.log)-2):], twice) {
		w.note(r, g.name, text, "good")
	}
}

// agreed notes what the members of a consistent group agree on, as the leader of the group has it.
func (w *world) agreed(g *group, r *sim.Record) {
	v, ok := r.Detail.(*protocol.View)
	if !ok || v.Agreed == nil || r.Peer.Rank != r.Node {
		return
	}
	lost := v.Agreed.Failed
	for i := range v.Agreed.Unfinished {
		lost = lost.Union(v.Agreed.Unfinished[i].Members)
	}
	switch {
	case v.Agreed.Vid == g.agreement:
		return
	case !lost.Empty():
		w.note(r, g.name, fmt.Sprintf("%s agree that %s failed, and %v recovers what they left behind", strings.Join(names(v.Support), ", "), strings.Join(names(lost), ", "), r.Node), "bad")
	case g.agreement != 0 && !v.Agreed.Joined.Empty():
		w.note(r, g.name, fmt.Sprintf("%s agree that %s joined", strings.Join(names(v.Support), ", "), strings.Join(names(v.Agreed.Joined), ", ")), "good")
	}
	g.agreement = v.Agreed.Vid
}

// end notes that the member of a line no longer leads. A lease that ran out before ended then: its holder asks the clock.
func (w *world) end(g *group, r *sim.Record, why string) {
	l, ok := g.leads[r.Node]
	if !ok {
		return
	}
	delete(g.leads, r.Node)
	at, evidence := time.Duration(r.T), "the member stepped down, by the trace"
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
func (w *world) gone(r *sim.Record) {
	for _, g := range w.groups {
		if _, ok := g.leads[r.Node]; ok {
			w.end(g, r, string(r.Ev))
			g.change(r, fmt.Sprintf("%s %v", r.Ev, r.Node))
		}
		delete(g.views, r.Node)
	}
}

func (g *group) change(r *sim.Record, cause string) {
	g.changed, g.cause = time.Duration(r.T), cause
	g.changes++
}
