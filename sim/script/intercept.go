package script

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// selector says which messages a statement is about: a name, or * for any, and on which links.
type selector struct {
	name  string
	links Links
}

func (l *selector) match(m sim.Intercepted) bool {
	return (l.name == "*" || m.Message.Name() == l.name) && l.links.covers(m.From.Rank, m.To)
}

// A ruleKind is what a rule does to messages.
type ruleKind uint8

const (
	hold    ruleKind = iota // keep them until they are delivered
	drop                    // lose them
	delay                   // let them take longer
	keepTwo                 // let them go, and keep a copy
)

// A rule is what happens to messages as they are sent.
type rule struct {
	kind ruleKind
	selector
	by   time.Duration
	left int // how many it still applies to
}

// interceptor applies the rules of a script to messages: it sees each one before its link does.
type interceptor struct {
	player *player
	rules  []*rule
	held   []sim.Intercepted // in the order in which they were sent
	sent   map[route]bool    // in the last run, and between it and the run before; so is given: what machines received
	given  map[route]bool
}

// A route is a message's name with its sender and receiver.
type route struct {
	name     string
	from, to protocol.Rank
}

// any says whether messages that a statement is about are in a set.
func (l *selector) any(ways map[route]bool) bool {
	for w := range ways {
		if (l.name == "*" || l.name == w.name) && l.links.covers(w.from, w.to) {
			return true
		}
	}
	return false
}

// intercept is a sim.Config.Post. The newest rule that matches counts.
func (m *interceptor) intercept(l sim.Intercepted) bool {
	if l.Message == nil {
		return false
	}
	m.sent[route{l.Message.Name(), l.From.Rank, l.To}] = true
	for i := len(m.rules) - 1; i >= 0; i-- {
		r := m.rules[i]
		if !r.match(l) {
			continue
		}
		if r.left--; r.left == 0 {
			m.rules = slices.Delete(m.rules, i, i+1)
		}
		return m.apply(r, l)
	}
	return false
}

// apply does to a message what a rule says. It returns true if the message was taken off its link.
func (m *interceptor) apply(r *rule, l sim.Intercepted) bool {
	w := m.player.world
	switch r.kind {
	case hold:
		m.held = append(m.held, l)
	case keepTwo:
		m.held = append(m.held, l)
		return false
	case delay:
		w.Deliver(l, w.Now().Add(r.by))
	case drop:
		m.player.lost(l)
	}
	return true
}

// lost puts a message that the script loses into the trace.
func (p *player) lost(l sim.Intercepted) {
	r := sim.Record{T: p.world.Now(), Node: l.From.Rank, Inc: l.From.Inc}
	r.Ev, r.Peer, r.Why = sim.EvDrop, p.world.Ident(l.To), l.Message.Name()+": script"
	if err := p.Observe(&r); err != nil {
		p.late = append(p.late, err)
	}
}

// addRule begins a rule.
type addRule rule

func (r *addRule) play(p *player) error {
	begun := rule(*r)
	p.interceptor.rules = append(p.interceptor.rules, &begun)
	return nil
}

// which of several messages: all of them, the one sent first or the one sent last.
type which uint8

const (
	every which = iota
	first
	last
)

// deliverHeld delivers held messages, or loses them.
type deliverHeld struct {
	which
	selector
	forget bool
}

func (h *deliverHeld) play(p *player) error {
	out := p.interceptor.take(h.which, &h.selector)
	if len(out) == 0 {
		return unmetf("no %s is held there", h.name)
	}
	for _, l := range out {
		if h.forget {
			p.lost(l)
		} else {
			p.world.Deliver(l, p.world.Now())
		}
	}
	return nil
}

// take removes held messages.
func (m *interceptor) take(w which, ls *selector) []sim.Intercepted {
	var out, rest []sim.Intercepted
	for i, l := range m.held {
		later := slices.ContainsFunc(m.held[i+1:], ls.match)
		if ls.match(l) && (w == every || w == first && len(out) == 0 || w == last && !later) {
			out = append(out, l)
		} else {
			rest = append(rest, l)
		}
	}
	m.held = rest
	return out
}

// endRules ends rules, and delivers what they held.
type endRules struct{ selector }

func (a *endRules) play(p *player) error {
	before := len(p.interceptor.rules)
	p.interceptor.rules = slices.DeleteFunc(p.interceptor.rules, func(r *rule) bool {
		return (a.name == "*" || a.name == r.name) && a.links.includes(&r.links, p.world.Members())
	})
	out := p.interceptor.take(every, &a.selector)
	if len(p.interceptor.rules) == before && len(out) == 0 {
		return unmetf("no rule is about %s there, and none is held", a.name)
	}
	for _, l := range out {
		p.world.Deliver(l, p.world.Now())
	}
	return nil
}

// includes says whether all ways of m are among those of l.
func (l *Links) includes(m *Links, members int) bool {
	for a := range protocol.Rank(members) {
		for b := range protocol.Rank(members) {
			if m.covers(a, b) && !l.covers(a, b) {
				return false
			}
		}
	}
	return true
}
