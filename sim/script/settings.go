package script

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Settings are what a script says before anything happens.
type Settings struct {
	Protocol string
	// Options of the protocol, each as name=value.
	Options []string
	Members int
	// Seed is what the script says; Seeded is false if it does not.
	Seed   uint64
	Seeded bool
	// Groups are those of the protocol unless the script names others.
	Groups []protocol.Group

	grouped bool
	varied  bool
	config  []func(*sim.Config)
}

// configure lets a setting change the world's configuration.
func (s *Settings) configure(f func(*sim.Config)) { s.config = append(s.config, f) }

func setProtocol(p *parser) {
	s := p.script
	p.once(s.Protocol != "")
	t := p.take("the name of a protocol")
	name := t.text
	for next := p.peek(); next != "" && !strings.Contains(next, "="); next = p.peek() {
		name += " " + p.take("a variant").text
	}
	found, err := suite.Lookup(name)
	if err != nil {
		p.failAt(t, "%v", err)
	}
	p.protocol, s.Protocol = found, name
	if s.Groups == nil {
		s.Groups = found.Groups
	}
	for p.peek() != "" {
		o := p.take("an option")
		s.Options = append(s.Options, o.text)
		if _, err := p.protocol.With(s.Options...); err != nil {
			p.failAt(o, "%v", err)
		}
	}
}

func setMembers(p *parser) {
	p.once(p.script.Members != 0)
	p.script.Members = int(p.number("how many members", 1, protocol.MaxMembers))
}

func setSeed(p *parser) {
	p.once(p.script.Seeded)
	p.script.Seed, p.script.Seeded = p.number("a seed", 0, math.MaxUint64), true
}

// once says that a setting must not come twice.
func (p *parser) once(again bool) {
	if t := p.tokens[0]; again {
		p.failAt(t, "%s is set already", t.text)
	}
}

// setGroups names the groups. Every member campaigns for all of them, unless the script says that none does before it is asked to.
func setGroups(p *parser) {
	p.once(p.script.grouped)
	names := []protocol.Group{}
	quiet := false
	for !quiet && (len(names) == 0 || p.peek() != "") {
		t := p.take("a group")
		g := protocol.Group(t.text)
		switch {
		case len(names) > 0 && t.text == "without":
			p.expect("candidates")
			quiet = true
		case mark(t.text) > 0 || slices.Contains(names, g):
			p.failAt(t, "%q: expected the name of a group, each once", t.text)
		default:
			names = append(names, g)
		}
	}
	p.script.Groups, p.script.grouped = names, true
	p.script.configure(func(c *sim.Config) {
		c.Groups = names
		if quiet {
			c.Groups = nil
		}
	})
}

// setLinks sets how some links behave, or all if none are named.
func setLinks(p *parser) {
	all := Links{}
	at := token{p.peek(), p.col()}
	if _, member := sim.RankNamed(at.text); member || at.text == "{" || at.text == "*" {
		all = p.plain(at, p.links())
	}
	var changes []func(*sim.Link)
	for p.peek() != "" || len(changes) == 0 {
		changes = append(changes, p.linkChange())
	}
	apply := func(l sim.Link) sim.Link {
		for _, change := range changes {
			change(&l)
		}
		return l
	}
	p.script.configure(func(c *sim.Config) {
		before, rest := c.Links, c.Link
		if all.From == nil {
			c.Link = apply(c.Link)
			if before == nil {
				return
			}
		}
		c.Links = func(a, b protocol.Rank) sim.Link {
			l := rest
			if before != nil {
				l = before(a, b)
			}
			if all.From == nil || all.covers(a, b) {
				l = apply(l)
			}
			return l
		}
	})
}

// linkChange takes one property of links.
func (p *parser) linkChange() func(*sim.Link) {
	switch t := p.take("delay, loss, duplicate, fifo or reliable"); t.text {
	case "delay":
		d := p.delay("a delay")
		return func(l *sim.Link) { l.Delay = d }
	case "loss":
		o := p.odds()
		return func(l *sim.Link) { l.Loss = o }
	case "duplicate":
		o := p.odds()
		return func(l *sim.Link) { l.Duplicate = o }
	case "fifo":
		return func(l *sim.Link) { l.FIFO = true }
	case "reliable":
		return func(l *sim.Link) { l.Reliable = true }
	default:
		p.failAt(t, "%q: expected delay, loss, duplicate, fifo or reliable", t.text)
		return nil
	}
}

// setClock sets a clock as it is in the beginning.
func setClock(p *parser) {
	who := slices.Collect(p.some().All())
	var spec sim.ClockSpec
	for first := true; first || p.peek() != ""; first = false {
		switch t := p.take("rate or shows"); t.text {
		case "rate":
			spec.Rate = p.rate()
		case "shows":
			spec.Offset = protocol.Time(p.duration("what the clock shows"))
		default:
			p.failAt(t, "%q: expected rate or shows", t.text)
		}
	}
	p.script.configure(func(c *sim.Config) {
		for len(c.Clocks) < c.Members {
			c.Clocks = append(c.Clocks, sim.ClockSpec{})
		}
		for _, r := range who {
			c.Clocks[r] = spec
		}
	})
}

func setTimers(p *parser) {
	for first := true; first || p.peek() != ""; first = false {
		switch t := p.take("late or twice"); t.text {
		case "late":
			d := p.delay("how late timers are")
			p.script.configure(func(c *sim.Config) { c.Timer = d })
		case "twice":
			o := p.odds()
			p.script.configure(func(c *sim.Config) { c.Spurious = o })
		default:
			p.failAt(t, "%q: expected late or twice", t.text)
		}
	}
}

// setPorts runs all messages through the codec and the datagram layer.
func setPorts(p *parser) {
	if p.protocol == nil {
		p.failAt(p.tokens[0], "ports: say first which protocol the members run, such as: protocol rank")
	}
	port := p.protocol.Port
	if port == nil {
		p.failAt(p.tokens[0], "%s is simulated without ports: leave this out", p.script.Protocol)
	}
	p.ported = true
	p.script.configure(func(c *sim.Config) { c.Port = port })
}

func setDisks(p *parser) {
	p.expect("take")
	d := p.delay("how long a write takes")
	p.script.configure(func(c *sim.Config) { c.Disk = d })
}

func setStarts(p *parser) {
	d := p.delay("when members start")
	p.script.configure(func(c *sim.Config) { c.Stagger = d })
}

func setDown(p *parser) {
	s := p.some()
	p.script.configure(func(c *sim.Config) { c.Down = c.Down.Union(s) })
}

// setPrograms sets how leading programs behave.
func setPrograms(p *parser) {
	var changes []func(*sim.ProgramSpec)
	add := func(f func(*sim.ProgramSpec)) { changes = append(changes, f) }
	for p.peek() != "" || len(changes) == 0 {
		switch t := p.take("act, stop, stubborn or again"); t.text {
		case "act":
			d := p.delay("how often a program acts")
			add(func(s *sim.ProgramSpec) { s.Act = d })
		case "stop":
			d := p.delay("how long a program takes to stop")
			add(func(s *sim.ProgramSpec) { s.Stop = d })
		case "stubborn":
			o := p.odds()
			add(func(s *sim.ProgramSpec) { s.Stubborn = o })
		case "again":
			d := p.delay("after how long a member campaigns")
			add(func(s *sim.ProgramSpec) { s.Again = d })
		default:
			p.failAt(t, "%q: expected act, stop, stubborn or again", t.text)
		}
	}
	p.script.configure(func(c *sim.Config) {
		for _, change := range changes {
			change(&c.Program)
		}
	})
}

// setVaried sets the world up as a random run of the same seed is, where the protocol has several ways to be set up.
func setVaried(p *parser) {
	if p.protocol == nil || p.protocol.Vary == nil || len(p.script.Options) > 0 {
		p.failAt(p.tokens[0], "varied: %s, as it is set up, has no variants that random runs draw: leave this out", cmp.Or(p.script.Protocol, "no protocol"))
	}
	p.script.varied = true
}

// setBounds sets how much is known of the delay of messages.
func setBounds(p *parser) {
	var changes []func(*sim.Bound)
	for p.peek() != "" || len(changes) == 0 {
		switch t := p.take("slack or unknown"); t.text {
		case "slack":
			d := p.delay("a length of time")
			changes = append(changes, func(b *sim.Bound) { b.Slack = d })
		case "unknown":
			o := p.odds()
			changes = append(changes, func(b *sim.Bound) { b.Unknown = o })
		default:
			p.failAt(t, "%q: expected slack or unknown", t.text)
		}
	}
	p.script.configure(func(c *sim.Config) {
		for _, change := range changes {
			change(&c.Bound)
		}
	})
}
