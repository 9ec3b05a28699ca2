package script

import (
	"fmt"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A condition is something that holds at an instant, or does not.
type condition interface {
	// holds says whether it does, and if not why not.
	holds(*player) (bool, string)
}

// scope is which of a member's views a condition is about.
type scope struct {
	group  protocol.Group
	domain int // -1: the strongest that the member has a view in
}

// condition takes: [not] SUBJECT VERB ... [in GROUP] [by DOMAIN].
func (p *parser) condition() condition {
	if p.accept("not") {
		from := p.next
		c := p.condition()
		return &negation{c, p.rest(from)}
	}
	switch {
	case p.accept("nobody"):
		if !p.accept("leads") {
			p.wrong(`"leads"`)
		}
		return &nobodyLeads{p.scope()}
	case p.peek() == "sent" || p.peek() == "held" || p.peek() == "delivered":
		t := p.take("")
		return &messageCond{what: t.text, selector: p.selector()}
	}
	who := subject{all: p.accept("all")}
	if !who.all {
		if next := p.peek(); next != "{" && next != "*" && !p.isMember(next) {
			p.wrong("a condition, such as: a leads, b follows a, all agree, c has no leader, nobody leads, a states lease, held MESSAGE LINKS")
		}
		who.set = p.some()
	}
	return p.predicate(who)
}

// predicate takes what is said of a subject.
func (p *parser) predicate(who subject) condition {
	switch t := p.take("leads, follows, agree, has no leader, is or states"); t.text {
	case "leads", "lead":
		return &leads{who, p.scope()}
	case "follows", "follow":
		r := p.member()
		return &follows{who, r, p.scope()}
	case "agree", "agrees":
		return &agree{who, p.scope()}
	case "has", "have":
		p.expect("no")
		p.expect("leader")
		return &follows{who, protocol.Nobody, p.scope()}
	case "is", "are":
		return p.state(who)
	case "states", "state":
		t := p.take("the name of an event, such as suspect")
		c := &states{who, protocol.Ev(t.text), anySeq}
		if next := p.peek(); next != "" && digit(next[0]) {
			c.seq = p.number("a number", 0, anySeq-1)
		}
		return c
	default:
		p.failAt(t, "%q: expected leads, follows, agree, has no leader, is or states", t.text)
		return nil
	}
}

// state takes up, down or frozen.
func (p *parser) state(who subject) condition {
	t := p.take("up, down or frozen")
	if !slices.Contains([]string{"up", "down", "frozen"}, t.text) {
		p.failAt(t, "%q: expected up, down or frozen", t.text)
	}
	return &is{who, t.text}
}

// scope takes: [in GROUP] [by DOMAIN].
func (p *parser) scope() scope {
	s := scope{domain: -1}
	switch groups := p.script.Groups; {
	case p.accept("in"):
		s.group = p.group()
	case len(groups) == 1:
		s.group = groups[0]
	case len(groups) > 1:
		p.fail("say in which group, such as: in %s", groups[0])
	}
	if p.accept("by") {
		t := p.take("a domain")
		for d := protocol.Elector; d <= protocol.Consistent; d++ {
			if d.String() == t.text {
				s.domain = int(d)
			}
		}
		if s.domain < 0 {
			p.failAt(t, "%q: expected elector, quorum, local or consistent", t.text)
		}
	}
	return s
}

// rest returns the text of the tokens from the i-th on.
func (p *parser) rest(i int) string {
	text := ""
	for _, t := range p.tokens[i:p.next] {
		text += " " + t.text
	}
	return text[1:]
}

// A subject is some members, or all that are up.
type subject struct {
	all bool
	set protocol.Set
}

// members returns the members that the subject stands for now.
func (s *subject) members(w *sim.World) protocol.Set {
	if !s.all {
		return s.set
	}
	var up protocol.Set
	for r := range protocol.Rank(w.Members()) {
		if w.Up(r) {
			up.Add(r)
		}
	}
	return up
}

// strongest orders domains by what they promise.
var strongest = [...]protocol.Domain{protocol.Quorum, protocol.Consistent, protocol.Local, protocol.Elector}

// view finds a member's view in a scope; nil if it has none.
func view(w *sim.World, r protocol.Rank, s scope) *protocol.View {
	views := w.Views(r)
	for _, d := range strongest {
		if s.domain >= 0 && d != protocol.Domain(s.domain) {
			continue
		}
		for i := range views {
			if v := &views[i]; v.Domain == d && v.Group == s.group {
				return v
			}
		}
	}
	return nil
}

// leader returns the member that another one sees leading in a scope.
func leader(w *sim.World, r protocol.Rank, s scope) protocol.Rank {
	if v := view(w, r, s); v != nil {
		return v.Leader.Rank
	}
	return protocol.Nobody
}

// believes words what a member believes.
func believes(w *sim.World, r protocol.Rank, s scope) string {
	v := view(w, r, s)
	switch {
	case !w.Up(r):
		return fmt.Sprintf("%v is down", r)
	case v == nil:
		return fmt.Sprintf("%v has no view yet", r)
	case v.Leader.Rank == protocol.Nobody:
		return fmt.Sprintf("%v has no leader (%v)", r, v.Cause)
	case v.Leader.Rank == r:
		return fmt.Sprintf("%v leads (%v)", r, v.Cause)
	}
	return fmt.Sprintf("%v follows %v (%v)", r, v.Leader.Rank, v.Cause)
}

type negation struct {
	cond condition
	text string
}

func (n *negation) holds(p *player) (bool, string) {
	ok, _ := n.cond.holds(p)
	return !ok, n.text
}

// leads: each of the members leads by its own view.
type leads struct {
	who subject
	scope
}

func (c *leads) holds(p *player) (bool, string) {
	for r := range c.who.members(p.world).All() {
		if !p.leads(r, c.scope) {
			return false, believes(p.world, r, c.scope)
		}
	}
	return true, ""
}

type nobodyLeads struct{ scope }

func (c *nobodyLeads) holds(p *player) (bool, string) {
	for r := range protocol.Rank(p.world.Members()) {
		if p.leads(r, c.scope) {
			return false, believes(p.world, r, c.scope)
		}
	}
	return true, ""
}

// follows: each of the members sees the given one leading, or nobody.
type follows struct {
	who    subject
	leader protocol.Rank
	scope
}

func (c *follows) holds(p *player) (bool, string) {
	for r := range c.who.members(p.world).All() {
		if !p.world.Up(r) || leader(p.world, r, c.scope) != c.leader {
			return false, believes(p.world, r, c.scope)
		}
	}
	return true, ""
}

// agree: all the members see the same member leading, and that one is up.
type agree struct {
	who subject
	scope
}

func (c *agree) holds(p *player) (bool, string) {
	set := c.who.members(p.world)
	first := set.Min()
	if set.Empty() {
		return false, "nobody is up"
	}
	for r := range set.All() {
		l := leader(p.world, r, c.scope)
		switch {
		case l == protocol.Nobody:
			return false, believes(p.world, r, c.scope)
		case l != leader(p.world, first, c.scope):
			return false, believes(p.world, first, c.scope) + ", " + believes(p.world, r, c.scope)
		case !p.world.Up(l):
			return false, believes(p.world, r, c.scope) + ", which is down"
		}
	}
	return true, ""
}

type is struct {
	who   subject
	state string
}

func (c *is) holds(p *player) (bool, string) {
	for r := range c.who.members(p.world).All() {
		now := standing(p.world.Up(r), p.world.Frozen(r))
		if now != c.state && !(c.state == "up" && now == "frozen") {
			return false, fmt.Sprintf("%v is %s", r, now)
		}
	}
	return true, ""
}

func standing(up, frozen bool) string {
	switch {
	case !up:
		return "down"
	case frozen:
		return "frozen"
	}
	return "up"
}

// states: each of the members has stated the event, of a number if one is named, in the last run, or between it and the run before.
type states struct {
	who subject
	ev  protocol.Ev
	seq uint64
}

func (c *states) holds(p *player) (bool, string) {
	for r := range c.who.members(p.world).All() {
		if p.stated[statement{r, c.ev, c.seq}] {
			continue
		}
		if c.seq != anySeq {
			return false, fmt.Sprintf("%v has not stated %q of %d", r, c.ev, c.seq)
		}
		return false, fmt.Sprintf("%v has not stated %q", r, c.ev)
	}
	return true, ""
}

// messageCond: a message was sent or delivered in the last run, or between it and the run before, or is held now.
type messageCond struct {
	what string
	selector
}

func (c *messageCond) holds(p *player) (bool, string) {
	ok := false
	switch c.what {
	case "held":
		ok = slices.ContainsFunc(p.interceptor.held, c.match)
	case "sent":
		ok = c.any(p.interceptor.sent)
	case "delivered":
		ok = c.any(p.interceptor.given)
	}
	return ok, fmt.Sprintf("no %s was %s", c.name, c.what)
}
