package suite

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

func init() {
	for i := range electors {
		e := &electors[i]
		tunables["stack "+e.name] = stackKnobs{knobs[stackSetup]{
			base:  func(b sim.Boot) stackSetup { return stackSetup{Config: NerioConfig(b), elector: e} },
			spawn: func(c stackSetup, b sim.Boot) (protocol.Machine, error) { return c.spawn(b) },
			all: []knob[stackSetup]{
				{"observers", "how many of the last in rank have no vote", func(c *stackSetup) any { return &c.observers }},
				{"prefer", "after how long a better-ranked candidate is handed the group; 0: never", func(c *stackSetup) any { return &c.Prefer }},
				{"lease", "δ: how long a lease is asked for", func(c *stackSetup) any { return &c.Lease }},
				{"stopwithin", "how long a program may take to stop", func(c *stackSetup) any { return &c.StopWithin }},
				{"diskless", "keep no record", func(c *stackSetup) any { return &c.Diskless }},
			},
		}}
	}
}

// stackKnobs are the options of a stack, of which one is a list of members, and which the world has to know as well.
type stackKnobs struct{ knobs[stackSetup] }

const witnessOption, noWitnesses = "witnesses", "none"

func (k stackKnobs) options() []Option {
	return append([]Option{{witnessOption, "who votes but never leads, such as a,c", noWitnesses}}, k.knobs.options()...)
}

func (k stackKnobs) with(p *Protocol, settings []string) (*Protocol, error) {
	var witnesses protocol.Set
	var plain []string
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		switch {
		case name != witnessOption:
			plain = append(plain, s)
			continue
		case value == noWitnesses:
			continue
		}
		for one := range strings.SplitSeq(value, ",") {
			r, ok := sim.RankNamed(one)
			if !ok {
				return nil, fmt.Errorf("%q: %q is no member: name some, such as %s=a,c", s, one, witnessOption)
			}
			witnesses.Add(r)
		}
	}
	base := k.base
	k.base = func(b sim.Boot) stackSetup {
		c := base(b)
		c.witnesses = witnesses
		return c
	}
	tuned, err := k.knobs.with(p, plain)
	if err != nil {
		return nil, err
	}
	setup := k.base(sim.Boot{Members: p.Members, Inc: 1})
	for _, s := range plain {
		turn, err := k.turn(p.Name, s)
		if err != nil {
			return nil, err
		}
		turn(&setup)
	}
	before := p.Configure
	tuned.Configure = func(c *sim.Config) {
		before(c)
		setup.tell(c)
	}
	return tuned, nil
}
