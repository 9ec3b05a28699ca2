package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// show is a statement that prints.
type show func(*player)

func (s show) play(p *player) error {
	s(p)
	return nil
}

// shows are what can be shown.
var shows = map[string]func(*player){
	"views":   (*player).showViews,
	"held":    (*player).showHeld,
	"clocks":  (*player).showClocks,
	"members": (*player).showMembers,
}

// watch says what a run prints as it happens.
type watch struct {
	what string
	only []string // names of facts or messages; all if there are none
}

func (w *watch) play(p *player) error {
	p.watching = *w
	return nil
}

func (w *watch) wants(name string) bool { return len(w.only) == 0 || slices.Contains(w.only, name) }

// see prints a record if somebody watches for it.
func (p *player) see(r *sim.Record) {
	message := r.Ev == sim.EvSend || r.Ev == sim.EvDeliver || r.Ev == sim.EvDrop
	name, _, _ := strings.Cut(r.Why, ":")
	switch w := &p.watching; {
	case w.what == "views" && r.Ev == sim.EvView:
		v := protocol.View{Leader: r.Peer, Domain: r.Dom, Group: r.Group}
		words := leaderWords(r.Node, &v)
		if v, ok := r.Detail.(*protocol.View); ok && v.Agreed != nil && v.Agreed.Recover {
			lost := v.Agreed.Failed
			for i := range v.Agreed.Unfinished {
				lost = lost.Union(v.Agreed.Unfinished[i].Members)
			}
			words += fmt.Sprintf(", recovers %v", lost)
		}
		p.print("%v %v%s: %s (%s)", r.T, r.Node, of(v.Domain, v.Group), words, r.Why)
	case w.what == "messages" && message && w.wants(name):
		p.print("%v %s", r.T, messageWords(r))
	case w.what == "facts" && !message && r.Ev != sim.EvView && w.wants(string(r.Ev)):
		p.print("%v %s", r.T, p.factWords(r))
	}
}

// of names a group and domain where they are not the only ones.
func of(d protocol.Domain, g protocol.Group) string {
	s := ""
	if g != "" {
		s += " " + string(g)
	}
	if d != protocol.Elector {
		s += " " + d.String()
	}
	return s
}

func leaderWords(self protocol.Rank, v *protocol.View) string {
	switch v.Leader.Rank {
	case protocol.Nobody:
		return "no leader"
	case self:
		return "leads"
	}
	return "follows " + v.Leader.Rank.String()
}

func messageWords(r *sim.Record) string {
	switch r.Ev {
	case sim.EvSend:
		return fmt.Sprintf("%v->%v %s sent", r.Node, r.Peer.Rank, r.Why)
	case sim.EvDeliver:
		return fmt.Sprintf("%v->%v %s arrives", r.Peer.Rank, r.Node, r.Why)
	}
	name, why, _ := strings.Cut(r.Why, ": ")
	return fmt.Sprintf("%v->%v %s lost (%s)", r.Node, r.Peer.Rank, name, why)
}

// digests are above every generation of a promise: facts of the council have the digest of a configuration in that place.
const digests = 1 << 32

// configuration names a configuration by the order in which the script has shown them: its digest would change with every change of the encoding.
func (p *player) configuration(digest uint64) string {
	i := slices.Index(p.configurations, digest)
	if i < 0 {
		i = len(p.configurations)
		p.configurations = append(p.configurations, digest)
	}
	return fmt.Sprintf("#%d", i+1)
}

// factWords shows a record without what every fact has.
func (p *player) factWords(r *sim.Record) string {
	var b strings.Builder
	if r.Node != protocol.Nobody {
		fmt.Fprintf(&b, "%v ", r.Node)
	}
	b.WriteString(string(r.Ev))
	if f, ok := r.Detail.(sim.Fault); ok {
		return b.String() + " " + f.String()
	}
	b.WriteString(of(r.Dom, r.Group))
	if r.Peer != (protocol.Ident{}) && (r.Peer.Rank != protocol.Nobody || r.Ev == protocol.EvWeak) {
		fmt.Fprintf(&b, " %v", r.Peer)
	}
	for _, n := range []struct {
		name  string
		value uint64
	}{{"seq", r.Seq}, {"gen", r.Gen}, {"term", r.Term}, {"tenure", r.Tenure}} {
		switch {
		case n.name == "gen" && n.value >= digests:
			b.WriteString(" config " + p.configuration(n.value))
		case n.value != 0:
			fmt.Fprintf(&b, " %s %d", n.name, n.value)
		}
	}
	if !r.Members.Empty() {
		fmt.Fprintf(&b, " %v", r.Members)
	}
	if r.Why != "" {
		fmt.Fprintf(&b, " (%s)", r.Why)
	}
	return b.String()
}

// A topic is a group in a domain.
type topic struct {
	domain protocol.Domain
	group  protocol.Group
}

// topics lists what members have views of, by group and then by how much a domain promises.
func (p *player) topics() []topic {
	var all []topic
	for r := range protocol.Rank(p.world.Members()) {
		for _, v := range p.world.Views(r) {
			if t := (topic{v.Domain, v.Group}); !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b topic) int {
		if c := strings.Compare(string(a.group), string(b.group)); c != 0 {
			return c
		}
		return slices.Index(strongest[:], a.domain) - slices.Index(strongest[:], b.domain)
	})
	return all
}

// showViews prints one line for each group and domain: which members each leader leads, and which follow none and why.
func (p *player) showViews() {
	all := p.topics()
	if len(all) == 0 {
		p.print("nobody has a view")
		return
	}
	groups, domains := map[protocol.Group]bool{}, map[protocol.Domain]bool{}
	for _, t := range all {
		groups[t.group], domains[t.domain] = true, true
	}
	for _, t := range all {
		label := ""
		if len(groups) > 1 {
			label = string(t.group)
		}
		if len(domains) > 1 {
			label = strings.TrimSpace(label + " " + t.domain.String())
		}
		if label != "" {
			label += ": "
		}
		p.print("%s%s", label, p.sentence(t))
	}
}

// sentence words what the members believe about one topic: "a leads {a b}; c: no leader (suspected b)".
func (p *player) sentence(t topic) string {
	w := p.world
	s := scope{t.group, int(t.domain)}
	var clauses []string
	var shown protocol.Set
	for r := range protocol.Rank(w.Members()) {
		if !p.leads(r, s) {
			continue
		}
		supporters := p.supporters(r, s)
		clauses = append(clauses, fmt.Sprintf("%v leads %v", r, supporters))
		shown.Add(r)
		for q := range supporters.All() {
			if w.Up(q) && leader(w, q, s) == r {
				shown.Add(q)
			}
		}
	}
	return strings.Join(append(clauses, p.others(shown, s)...), "; ")
}

// supporters returns who backs a leader as far as it knows or, in a domain without support, who follows it.
func (p *player) supporters(r protocol.Rank, s scope) protocol.Set {
	if v := view(p.world, r, s); !v.Support.Empty() {
		return v.Support
	}
	var set protocol.Set
	for q := range protocol.Rank(p.world.Members()) {
		if leader(p.world, q, s) == r {
			set.Add(q)
		}
	}
	return set
}

// others words what members believe that are not shown yet, like with like, and who is not as it should be.
func (p *player) others(shown protocol.Set, s scope) []string {
	var said []clause
	add := func(r protocol.Rank, one, many string) {
		for i := range said {
			if said[i].one == one {
				said[i].who.Add(r)
				return
			}
		}
		said = append(said, clause{protocol.NewSet(r), one, many})
	}
	for r := range protocol.Rank(p.world.Members()) {
		v := view(p.world, r, s)
		switch {
		case !p.world.Up(r):
			add(r, " is down", " are down")
			continue
		case shown.Has(r):
		case v == nil:
			add(r, " has no view yet", " have no view yet")
		case v.Leader.Rank == protocol.Nobody:
			cause := fmt.Sprintf(": no leader (%v)", v.Cause)
			add(r, cause, cause)
		case v.Leader.Rank == r:
			add(r, ": its lease is over", ": their leases are over")
		default:
			add(r, fmt.Sprintf(" follows %v", v.Leader.Rank), fmt.Sprintf(" follow %v", v.Leader.Rank))
		}
		if p.world.Frozen(r) {
			add(r, " is frozen", " are frozen")
		}
	}
	words := make([]string, len(said))
	for i, w := range said {
		words[i] = strings.Trim(w.who.String(), "{}") + w.one
		if w.who.Len() > 1 {
			words[i] = strings.Trim(w.who.String(), "{}") + w.many
		}
	}
	return words
}

// A clause is what is said of one or of several members.
type clause struct {
	who       protocol.Set
	one, many string
}

func (p *player) showHeld() {
	if len(p.interceptor.held) == 0 {
		p.print("nothing is held")
	}
	for _, l := range p.interceptor.held {
		p.print("%v->%v %s", l.From.Rank, l.To, l.Message.Name())
	}
}

func (p *player) showClocks() {
	for r := range protocol.Rank(p.world.Members()) {
		c := p.world.Clock(r)
		p.print("%v: %v, rate %+dppb", r, c.At(p.world.Now()), c.Rate(p.world.Now()))
	}
}

func (p *player) showMembers() {
	for r := range protocol.Rank(p.world.Members()) {
		p.print("%v is %s", p.world.Ident(r), standing(p.world.Up(r), p.world.Frozen(r)))
	}
}
