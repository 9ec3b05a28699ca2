package suite

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// RainGroup is the consistent group of simulated members.
const RainGroup protocol.Group = "rain"

const (
	rainTimely = nerioTimely
	// rainSettle is how long a healed core may take: that of quorum leases, a few agreements one after the other, each with a wait for
	// those that were lost, and members that leave because of a link that was broken.
	rainSettle = nerioSettle + 5*time.Second
)

// A rainVariant is one way to set the protocol up.
type rainVariant struct {
	name, about string
	form        rain.Form
	gated       bool
	faults      []Weight
	rows        []string
	// live says that a healed core comes to agree again, whatever went wrong before.
	live bool
}

var rainVariants = []rainVariant{
	{"rain gated", "a manager once all agree who failed, by leases of a quorum (RAIN)", rain.Omega, true, rainFaults, rainGatedRows, true},
	{"rain plain", "the same without a quorum, as in the paper: a partition has one manager in each part", rain.Omega, false, rainFaults,
		rainPlainRows, true},
	{"rain psi", "for study: failures and recoveries, but a wrong suspicion is never taken back", rain.Psi, false, rainCrashes,
		[]string{MessageLost, MemberLost, MemberTaken}, false},
	{"rain phi", "for study: failures only", rain.Phi, false, rainCrashes, []string{MessageLost, MemberLost}, false},
}

var (
	rainFaults = []Weight{
		{sim.Crash, 10}, {sim.Pause, 5}, {sim.Suspend, 4}, {sim.Cut, 10}, {sim.Partition, 6}, {sim.Slow, 6}, {sim.Lose, 5},
		{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.SlowDisk, 2}, {sim.Resign, 4}, {sim.Campaign, 2}, {sim.Leave, 3}, {sim.Ill, 4},
	}
	rainCrashes  = []Weight{{sim.Crash, 10}, {sim.Duplicate, 4}, {sim.Rate, 3}}
	rainMessages = []string{"rain.Cand", "rain.Accept", "rain.Cancel", "rain.Install", "rain.Installed", "rain.State", "rain.Query",
		"rain.Answer", "rain.Stay", "rain.Stays", "rain.Links", "link.Ping"}
)

// RainConfig returns the configuration of a simulated member.
func RainConfig(b sim.Boot, form rain.Form, gated bool) rain.Config {
	c := rain.Default(b.Self, b.Members, b.Inc)
	c.Form = form
	// Shorter than by default: random cuts are short, too.
	c.Stall, c.Evict = 600*time.Millisecond, 1200*time.Millisecond
	if gated {
		c.Quorums = protocol.Majority(b.Members)
	}
	return c
}

// rainSetup is a configuration with that of the authority below it, and with how long programs take to recover; 0: as they like.
type rainSetup struct {
	rain.Config
	nerio   nerio.Config
	recover time.Duration
}

// rainKnobs are the options of a variant.
func rainKnobs(v rainVariant) knobs[rainSetup] {
	return knobs[rainSetup]{
		base: func(b sim.Boot) rainSetup { return rainSetup{RainConfig(b, v.form, v.gated), NerioConfig(b), 0} },
		spawn: func(c rainSetup, b sim.Boot) (protocol.Machine, error) {
			m, err := newRain(b, c.Config, c.nerio)
			if err != nil {
				return nil, err
			}
			m.recover = c.recover
			return m, nil
		},
		all: []knob[rainSetup]{
			{"ping", "how often a peer is sent something", func(c *rainSetup) any { return &c.Ping }},
			{"tout", "how long a link stays up without contact", func(c *rainSetup) any { return &c.Tout }},
			{"tin", "how fresh contact must be to bring it up", func(c *rainSetup) any { return &c.Tin }},
			{"stay", "how long a member may go on without the word of a quorum", func(c *rainSetup) any { return &c.Stay }},
			{"renew", "how often it asks for it", func(c *rainSetup) any { return &c.Renew }},
			{"stall", "after what time a link that is broken, and only that, is reported; 0s: never", func(c *rainSetup) any { return &c.Stall }},
			{"evict", "after what time one end of a broken link leaves: the one among the fewest members that explain all; 0s: never", func(c *rainSetup) any { return &c.Evict }},
			{"diskless", "keep no record", func(c *rainSetup) any { return &c.nerio.Diskless }},
			{"recover", "how long a manager takes to recover; 0s: as it likes, up to 300ms", func(c *rainSetup) any { return &c.recover }},
		},
	}
}

// rainProtocols are agreements on who failed, in all variants.
func rainProtocols() []*Protocol {
	var all []*Protocol
	for _, v := range rainVariants {
		all = append(all, rainProtocol(v))
	}
	return append(all, gammaProtocol())
}

func rainProtocol(v rainVariant) *Protocol {
	k := rainKnobs(v)
	return &Protocol{
		Name:       v.name,
		Default:    v.gated,
		About:      v.about,
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn:      func(b sim.Boot) (protocol.Machine, error) { return k.spawn(k.base(b), b) },
		Messages:   rainMessages,
		Matters:    []string{"rain.Cand", "rain.Accept", "rain.Cancel", "rain.Install", "rain.Installed", "rain.State"},
		Groups:     []protocol.Group{RainGroup},
		Configure:  func(c *sim.Config) { c.Bound.Old, c.Messages = v.gated, true },
		Port: pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 3 * rainTimely,
			Outdated: func() protocol.Message { return &nerio.Outdated{} }}),
		Checkers: v.checkers,
		Faults:   v.faults,
		// A backup of a member's newest incarnation is found out by nobody, and may lack views: docs/rain.md says so.
		Disks:  []sim.Disk{sim.Kept, sim.Kept, sim.Lost, sim.Reboot},
		Timely: rainTimely,
		Settle: rainSettle,
		Core: func(n int) int {
			if v.gated {
				return majority(n)
			}
			return min(2, n)
		},
		Rows:  v.rows,
		Least: map[string]int{TwoLost: 4}, // when two of three are lost, nobody is left to agree with
		Vary:  v.vary(),
		Watch: watchRain,
	}
}

// checkers hold a run to what the members promise, and the links and leases below them.
func (v *rainVariant) checkers(t check.Truth) []check.Checker {
	voters, leaders := rolesIn(t)
	all := check.Rain(t, check.RainSpec{Group: RainGroup, Gated: v.gated, Quorums: protocol.MajorityOf(t.Members(), voters), Leaders: leaders,
		Live: v.live, Settle: rainSettle})
	links := LinkLimits()
	links.Settle = rainSettle
	all = append(all, check.NewLinks(t, links)...)
	if v.gated {
		all = append(all, nerioCheckers(t, nil, rainSettle)...)
	}
	return all
}

// vary lets random runs of the gated variant differ in what is below: leases with and without an elector, with and without disks, and in
// every third run with witnesses and observers.
func (v *rainVariant) vary() func(*sim.Config) {
	if !v.gated {
		return nil
	}
	return func(c *sim.Config) {
		d := sim.NewDice(c.Seed, 0x7a14)
		diskless, over := d.N(6) == 0, d.N(3*len(electors))
		var setup stackSetup
		least := 2
		if over < len(electors) {
			setup.elector = &electors[over]
			least = max(least, setup.elector.least)
		}
		if d.N(3) == 0 {
			setup.assign(d, c.Members, least)
		}
		setup.tell(c)
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			wild := func(m *rainMember, err error) (protocol.Machine, error) {
				if err != nil {
					return nil, err
				}
				m.program.wild = sim.NewDice(b.Seed, 0x7a2)
				return m, nil
			}
			s, roles := setup, setup.roles(b.Members)
			s.Config = NerioConfig(b)
			s.Diskless = diskless
			s.Bootstrap = s.Bootstrap || b.Record != nil // where there is a record the flag does not matter
			s.Quorums, s.Leaders = roles.Quorums(), roles.Leaders()
			cfg := RainConfig(b, v.form, true)
			cfg.Diskless, cfg.Quorums, cfg.Leaders = diskless, roles.Quorums(), roles.Leaders()
			if s.elector == nil {
				return wild(newRain(b, cfg, s.Config))
			}
			m, err := s.spawn(b)
			if err != nil {
				return nil, err
			}
			return wild(newRainOver(b, cfg, m.(rain.Authority)))
		}
	}
}

// assign draws who has no vote, and who votes and never leads.
func (s *stackSetup) assign(d *sim.Dice, members, least int) {
	s.observers = d.N(max(0, members-least) + 1)
	voters := members - s.observers
	for range d.N(voters) {
		s.witnesses.Add(protocol.Rank(d.N(voters)))
	}
}

// gammaProtocol is the first protocol of the paper, in which nobody fails.
func gammaProtocol() *Protocol {
	p := rainProtocol(rainVariants[1])
	p.Name, p.About = "rain gamma", "for study: who captures all others leads; nobody fails"
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) { return rain.NewGamma(RainConfig(b, rain.Omega, false)) }
	p.Faults = []Weight{{sim.Cut, 4}, {sim.Slow, 4}, {sim.Lose, 4}, {sim.Duplicate, 4}, {sim.Rate, 3}}
	p.Core = func(n int) int { return n }
	p.Rows = []string{MessageLost, MessageLate, MessageTwice}
	return p
}

// newRain makes a simulated member with a program that takes its time to recover and to stop.
func newRain(b sim.Boot, c rain.Config, n nerio.Config) (*rainMember, error) {
	var below rain.Authority
	if c.Quorums.Members() > 0 {
		c.Diskless = n.Diskless
		m, err := nerio.New(n, b.Record, b.Seed)
		if err != nil {
			return nil, err
		}
		below = m
	}
	return newRainOver(b, c, below)
}

func newRainOver(b sim.Boot, c rain.Config, below rain.Authority) (*rainMember, error) {
	m, err := rain.New(c, below, b.Record)
	if err != nil {
		return nil, err
	}
	return &rainMember{Machine: m, dice: sim.NewDice(b.Seed, 0x7a1)}, nil
}

// A rainMember is a member of a consistent group with its program: it reports some time after it was asked to recover, and says Stopped some time
// after it was asked to stop.
type rainMember struct {
	*rain.Machine
	dice    *sim.Dice
	program rainProgram
	events  []rainEvent
	recover time.Duration // how long it takes; 0: as long as the dice say
}

// A rainEvent is what the program will say, and when.
type rainEvent struct {
	at protocol.Time
	ev protocol.Event
}

// Step puts the program's word in the place of a Tick, which may come at any time anyway.
func (m *rainMember) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if _, ok := ev.(protocol.Tick); ok && m.program.wild != nil && m.program.acts != nil && m.act(now, out) {
		return
	}
	if _, ok := ev.(protocol.Tick); ok && len(m.events) > 0 && now >= m.events[0].at {
		ev = m.events[0].ev
		m.events = append(m.events[:0], m.events[1:]...)
	}
	var done protocol.Effects
	if _, ok := ev.(protocol.Tick); ok {
		if said := m.program.due(now, &done, RainGroup); said != nil {
			ev = said
		}
	}
	m.Machine.Step(now, ev, out)
	out.Facts = append(done.Facts, out.Facts...)
	stopped := ev == protocol.Event(protocol.Stopped{Group: RainGroup}) // that of another group says nothing of this one's
	for i := range out.Views {
		if v := &out.Views[i]; v.Domain == protocol.Consistent {
			m.view(now, v, stopped)
		}
	}
	if len(m.events) > 0 {
		out.Wake = min(out.Wake, m.events[0].at)
	}
	if len(m.program.acts) > 0 {
		out.Wake = min(out.Wake, m.program.acts[0].at)
	}
}

// act lets a wild program act in a step of its own, and says whether it has: the facts of a step are recorded after its views, and what the program did came
// before those.
func (m *rainMember) act(now protocol.Time, out *protocol.Effects) bool {
	if said := m.program.due(now, out, RainGroup); said != nil {
		m.events = slices.Insert(m.events, 0, rainEvent{now, said})
	}
	if len(out.Facts) == 0 {
		return false
	}
	out.Wake = now
	return true
}

// view does what a view asks of the program. A program that has just stopped is not there to be asked to.
func (m *rainMember) view(now protocol.Time, v *protocol.View, stopped bool) {
	if stopped && v.Stop {
		m.program.leave()
		return
	}
	takes := m.dice.Between(0, 300*time.Millisecond)
	at := now.Add(takes)
	if m.recover > 0 {
		takes = m.recover
	}
	m.program.view(now, v, takes)
	if v.Stop {
		// What it was about to report it may report all the same: nobody knows in what order its threads end.
		if m.dice.N(2) == 0 {
			m.program.stop()
		}
		// It takes part again once it has stopped, not before: also if it was about to after the last time.
		again := v.Cause.Code == protocol.Unhealthy
		campaign := protocol.Campaign{Group: v.Group}
		m.events = slices.DeleteFunc(m.events, func(e rainEvent) bool {
			again = again || e.ev == campaign
			return e.ev == campaign
		})
		at = m.say(at, protocol.Stopped{Group: v.Group})
		if again {
			m.say(at.Add(m.dice.Between(0, time.Second)), campaign)
		}
	}
}

// say has the program say something, unless it is about to say it anyway, and returns when it will.
func (m *rainMember) say(at protocol.Time, ev protocol.Event) protocol.Time {
	i := 0
	for j := range m.events {
		if m.events[j].ev == ev {
			return m.events[j].at
		}
		if m.events[j].at <= at {
			i = j + 1
		}
	}
	m.events = slices.Insert(m.events, i, rainEvent{at, ev})
	return at
}
