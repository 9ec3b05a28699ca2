package script

import (
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// play begins the faults. The member that a fault of the leader befalls is known from its record; without a leader there is none.
func (f faults) play(p *player) error {
	for _, fault := range f {
		p.newest = nil
		if id := p.world.Begin(fault); p.newest != nil {
			p.begun = append(p.begun, begun{id, *p.newest})
		}
	}
	return nil
}

// ending ends faults of members before their time.
type ending struct {
	kinds []sim.Kind
	who   protocol.Set
	what  string
}

func (e *ending) play(p *player) error {
	before := len(p.begun)
	p.begun = slices.DeleteFunc(p.begun, func(b begun) bool {
		over := slices.Contains(e.kinds, b.fault.Kind) && e.who.Has(b.fault.A)
		if over {
			p.world.End(b.id)
		}
		return over
	})
	if len(p.begun) == before {
		return unmetf("%s was not %s", strings.Trim(e.who.String(), "{}"), e.what)
	}
	return nil
}

// healing ends what is wrong with links: all of them if none are named.
type healing struct{ links *Links }

func (h *healing) play(p *player) error {
	before := len(p.begun)
	p.begun = slices.DeleteFunc(p.begun, func(b begun) bool {
		over := onLinks(b.fault.Kind) && (h.links == nil || h.all(p.world.Members(), &b.fault))
		if over {
			p.world.End(b.id)
		}
		return over
	})
	if len(p.begun) == before {
		return unmetf("nothing was wrong with those links, or with them only: a partition is healed as a whole")
	}
	return nil
}

func onLinks(k sim.Kind) bool {
	return slices.Contains([]sim.Kind{sim.Cut, sim.Partition, sim.Slow, sim.Lose, sim.Duplicate}, k)
}

// all says whether the links to heal are all those of a fault.
func (h *healing) all(members int, f *sim.Fault) bool {
	for a := range protocol.Rank(members) {
		for b := range protocol.Rank(members) {
			if a != b && covers(f, a, b) && !h.links.covers(a, b) {
				return false
			}
		}
	}
	return true
}

// covers says whether a fault is about the way from a to b.
func covers(f *sim.Fault, a, b protocol.Rank) bool {
	if f.Kind == sim.Partition {
		return f.Side.Has(a) != f.Side.Has(b)
	}
	return (f.A == a || f.A == protocol.Nobody) && (f.B == b || f.B == protocol.Nobody)
}

// command gives machines an event.
type command struct {
	who protocol.Set
	ev  protocol.Event
}

func (c *command) play(p *player) error {
	for r := range c.who.All() {
		p.world.Command(r, c.ev)
	}
	return nil
}

// later postpones another statement.
type later struct {
	at       sim.Real
	in       time.Duration
	relative bool
	do       action
}

func (l *later) play(p *player) error {
	at := l.at
	if l.relative {
		at = p.world.Now().Add(l.in)
	}
	if at < p.world.Now() {
		return unmetf("%v is over: it is %v now", at, p.world.Now())
	}
	p.world.At(at, func() {
		if err := l.do.play(p); err != nil {
			p.late = append(p.late, err)
		}
	})
	return nil
}

// run lets time pass.
type run struct {
	length   time.Duration
	until    sim.Real
	absolute bool
	cond     condition // run until it holds,
	within   time.Duration
	hold     condition // or as long as it does
}

func (r *run) play(p *player) error {
	w := p.world
	var err error
	switch {
	case r.cond != nil:
		p.result.Checks++
		err = p.runUntil(r.cond, w.Now().Add(r.within))
	case r.hold != nil:
		p.result.Checks++
		err = p.runWhile(r.hold, w.Now().Add(r.length))
	case r.absolute && r.until < w.Now():
		return unmetf("%v is over: it is %v now", r.until, w.Now())
	case r.absolute:
		err = w.Run(r.until)
	default:
		err = w.Run(w.Now().Add(r.length))
	}
	if err == nil && len(p.late) > 0 {
		err, p.late = p.late[0], nil
	}
	if err == nil {
		p.showViews()
	}
	return err
}

// runUntil lets time pass from event to event until the condition holds.
func (p *player) runUntil(c condition, limit sim.Real) error {
	for {
		ok, why := c.holds(p)
		if ok {
			return nil
		}
		next := p.world.Next()
		if next > limit {
			if err := p.world.Run(limit); err != nil {
				return err
			}
			return unmetf("it did not come to this by %v: %s", limit, why)
		}
		if err := p.world.Run(next); err != nil {
			return err
		}
	}
}

// runWhile lets time pass from event to event as long as the condition holds.
func (p *player) runWhile(c condition, until sim.Real) error {
	for {
		if ok, why := c.holds(p); !ok {
			return unmetf("it came to an end at %v: %s", p.world.Now(), why)
		}
		if p.world.Now() >= until {
			return nil
		}
		if err := p.world.Run(min(p.world.Next(), until)); err != nil {
			return err
		}
	}
}

// settling ends all that is wrong, and lets time pass in which the core must converge.
type settling struct {
	length time.Duration
	core   protocol.Set
}

func (s *settling) play(p *player) error {
	w := p.world
	p.interceptor.rules = nil
	for _, l := range p.interceptor.held {
		w.Deliver(l, w.Now())
	}
	p.interceptor.held = nil
	for r := range protocol.Everyone(w.Members()).Minus(s.core).All() {
		w.Begin(sim.Fault{Kind: sim.Crash, A: r, B: protocol.Nobody})
	}
	w.Relink(p.protocol.Healed(w.Seed(), w.Members(), s.core))
	w.Heal(s.core)
	w.Phase(sim.Liveness, s.core)
	if err := w.Run(w.Now().Add(s.length)); err != nil {
		return err
	}
	p.showViews()
	return nil
}

type expectation struct{ cond condition }

func (e *expectation) play(p *player) error {
	p.result.Checks++
	if ok, why := e.cond.holds(p); !ok {
		return unmetf("it is otherwise: %s", why)
	}
	return nil
}

// expectViolation says that the statement before it must have violated an invariant.
type expectViolation struct{ name string }

func (e *expectViolation) play(p *player) error {
	p.result.Checks++
	got := violated(p.violation)
	switch {
	case got == "":
		return unmetf("no invariant was violated")
	case got != e.name:
		return unmetf("another invariant was violated: %v", p.violation)
	}
	p.violation, p.over = nil, true
	return nil
}
