// Package fuzz runs protocols under random faults. A seed is turned into a Plan, which says everything that will happen
// in a run; a plan that violates an invariant is shrunk to a short one that still does.
//
//	plan.go     what a run is made of       draw.go     plans from seeds
//	run.go      one run                     range.go    many, on all cores, with their coverage
//	shrink.go   the short plan that still fails
package fuzz

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// A Plan is all of one run, as a value: two runs of one plan are the same run.
type Plan struct {
	Protocol string
	Members  int
	// Seed draws what the plan leaves open: delays, losses, the machines' own randomness.
	Seed   uint64
	Clocks []sim.ClockSpec
	// Link is how links are in the safety phase when no fault is on them. In the liveness phase they lose nothing and take
	// no longer than the protocol wants.
	Link     sim.Link
	Timer    sim.Delay
	Spurious sim.Odds
	Bound    sim.Bound
	Program  sim.ProgramSpec
	Stagger  sim.Delay
	// Ports runs the messages through the protocol's ports.
	Ports bool
	// Faults of the safety phase.
	Faults []sim.Fault
	// Safety and Liveness are how long the phases last. Core lists the members that must converge; the others are down by
	// then.
	Safety, Liveness time.Duration
	Core             protocol.Set
}

// window is how long the end of a liveness phase lasts, in which nothing may change any more.
const window = 2 * time.Second

// Check says whether the plan can be run with p.
func (pl *Plan) Check(p *suite.Protocol) error {
	switch {
	case pl.Members < p.MinMembers || pl.Members > protocol.MaxMembers:
		return fmt.Errorf("fuzz: %d members: %s takes between %d and %d", pl.Members, p.Name, p.MinMembers, protocol.MaxMembers)
	case pl.Core.Len() < p.Core(pl.Members):
		return fmt.Errorf("fuzz: a core of %d members: %s needs %d of %d", pl.Core.Len(), p.Name, p.Core(pl.Members), pl.Members)
	case pl.Liveness < p.Settle:
		return fmt.Errorf("fuzz: a liveness phase of %v: %s needs %v to converge", pl.Liveness, p.Name, p.Settle)
	}
	return nil
}

// config makes the world that the plan begins with.
func (pl *Plan) config(p *suite.Protocol) sim.Config {
	c := sim.Config{
		Members:  pl.Members,
		Seed:     pl.Seed,
		Spawn:    p.Spawn,
		Link:     pl.Link,
		Clocks:   pl.Clocks,
		Timer:    pl.Timer,
		Spurious: pl.Spurious,
		Bound:    pl.Bound,
		Program:  pl.Program,
		Stagger:  pl.Stagger,
		Groups:   p.Groups,
		Late:     p.Timely,
	}
	if pl.Ports {
		c.Port = p.Port
	}
	if p.Configure != nil {
		p.Configure(&c)
	}
	if p.Vary != nil {
		p.Vary(&c)
	}
	return c
}
