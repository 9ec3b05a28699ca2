package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/check"
	"github.com/regentproject/regent/internal/sim/pipe"
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
}

var rainVariants = []rainVariant{
	{"rain gated", "a manager once all agree who failed, by leases of a quorum", rain.Omega, true, rainFaults, rainGatedRows},
	{"rain plain", "the same without a quorum, as in the paper: one manager in each part of a partition", rain.Omega, false, rainFaults, rainRows},
}

var rainFaults = []Weight{
	{sim.Crash, 10}, {sim.Pause, 5}, {sim.Suspend, 4}, {sim.Cut, 10}, {sim.Partition, 6}, {sim.Slow, 6}, {sim.Lose, 5},
	{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.SlowDisk, 2}, {sim.Resign, 4}, {sim.Campaign, 2}, {sim.Leave, 3},
}

// RainConfig returns the configuration of a simulated member.
func RainConfig(b sim.Boot, form rain.Form, gated bool) rain.Config {
	c := rain.Default(b.Self, b.Members, b.Inc)
	c.Form = form
	if gated {
		c.Quorums = protocol.Majority(b.Members)
	}
	return c
}

// rainProtocols are agreements on who failed, in all variants.
func rainProtocols() []*Protocol {
	var all []*Protocol
	for _, v := range rainVariants {
		all = append(all, rainProtocol(v))
	}
	return all
}

func rainProtocol(v rainVariant) *Protocol {
	return &Protocol{
		Name:       v.name,
		Default:    v.gated,
		About:      v.about,
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return newRain(b, RainConfig(b, v.form, v.gated), NerioConfig(b))
		},
		Messages: []string{"rain.Cand", "rain.Accept", "rain.Cancel", "rain.Install", "rain.Installed", "rain.State", "rain.Query",
			"rain.Answer", "rain.Stay", "rain.Stays", "link.Ping"},
		Matters: []string{"rain.Cand", "rain.Accept", "rain.Cancel", "rain.Install", "rain.Installed", "rain.State"},
		Groups:  []protocol.Group{RainGroup},
		Configure: func(c *sim.Config) {
			c.Bound.Old = v.gated
		},
		Port: pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 3 * rainTimely,
			Outdated: func(later protocol.Inc) protocol.Message { return &nerio.Stale{Highest: later} }}),
		Checkers: func(t check.Truth) []check.Checker {
			all := check.Rain(t, check.RainSpec{Group: RainGroup, Gated: v.gated, Settle: rainSettle})
			if v.gated {
				all = append(all, nerioCheckers(t, nil, rainSettle)...)
			}
			return all
		},
		Faults: v.faults,
		Disks:  []sim.Disk{sim.Kept, sim.Kept, sim.Lost, sim.Reboot},
		Timely: rainTimely,
		Settle: rainSettle,
		Core: func(n int) int {
			if v.gated {
				return majority(n)
			}
			return min(2, n)
		},
		Rows: v.rows,
	}
}

// newRain makes a simulated member with a program that takes its time to recover and to stop.
func newRain(b sim.Boot, c rain.Config, n nerio.Config) (protocol.Machine, error) {
	var below rain.Authority
	if c.Quorums.Members() > 0 {
		c.Diskless = n.Diskless
		m, err := nerio.New(n, b.Record, b.Seed)
		if err != nil {
			return nil, err
		}
		below = m
	}
	m, err := rain.New(c, below, b.Record)
	if err != nil {
		return nil, err
	}
	return &rainMember{Machine: m, dice: sim.NewDice(b.Seed, 0x7a1)}, nil
}

// A rainMember is a member of a consistent group with its program: it says Recover some time after it was asked to recover, and Stopped
// some time after it was asked to stop.
type rainMember struct {
	*rain.Machine
	dice   *sim.Dice
	wake   protocol.Time // of the machine
	events []rainEvent
	views  []protocol.View
}

// A rainEvent is what the program will say, and when.
type rainEvent struct {
	at protocol.Time
	ev protocol.Event
}

// Step puts the program's word in the place of a Tick, which may come at any time anyway.
func (m *rainMember) Step(now protocol.Time, ev protocol.Event) protocol.Effects {
	if _, ok := ev.(protocol.Tick); ok && len(m.events) > 0 && now >= m.events[0].at {
		ev = m.events[0].ev
		m.events = append(m.events[:0], m.events[1:]...)
	}
	eff := m.Machine.Step(now, ev)
	for i := range eff.Views {
		if v := &eff.Views[i]; v.Domain == protocol.Consistent {
			m.program(now, v)
		}
	}
	if len(m.events) > 0 {
		eff.Wake = min(eff.Wake, m.events[0].at)
	}
	return eff
}

// program does what a view asks of the program.
func (m *rainMember) program(now protocol.Time, v *protocol.View) {
	switch {
	case v.Stop:
		m.events = append(m.events[:0], rainEvent{now.Add(m.dice.Between(0, 300*time.Millisecond)), protocol.Stopped{Group: v.Group}})
	case v.Agreed != nil && v.Agreed.Recover && len(m.events) == 0:
		m.events = append(m.events, rainEvent{now.Add(m.dice.Between(0, 300*time.Millisecond)), protocol.Recover{Group: v.Group}})
	}
}

var rainRows = []string{LeaderCrashed, MessageLost}

var rainGatedRows = rainRows
