package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
)

// The options of the electors that count suspicions.
var (
	timefreeKnobs = knobs[timefree.Config]{
		base:  TimefreeConfig,
		spawn: func(c timefree.Config, _ sim.Boot) (protocol.Machine, error) { return timefree.New(c) },
		all: append(counterKnobs(func(c *timefree.Config) *counter.Config { return &c.Config }),
			queryKnobs(func(c *timefree.Config) *timefree.Config { return c })...),
	}
	fsourceKnobs = knobs[fsource.Config]{
		base:  FsourceConfig,
		spawn: func(c fsource.Config, _ sim.Boot) (protocol.Machine, error) { return fsource.New(c) },
		all: append(append(counterKnobs(func(c *fsource.Config) *counter.Config { return &c.Config }),
			knob[fsource.Config]{"period", "how often a member says that it is alive", func(c *fsource.Config) any { return &c.Period }}),
			aliveKnobs(func(c *fsource.Config) *fsource.Config { return c })...),
	}
	hybridKnobs = knobs[hybrid.Config]{
		base:  HybridConfig,
		spawn: func(c hybrid.Config, _ sim.Boot) (protocol.Machine, error) { return hybrid.New(c) },
		all: append(append(counterKnobs(func(c *hybrid.Config) *counter.Config { return &c.Config }),
			queryKnobs(func(c *hybrid.Config) *timefree.Config { return &c.Query })...),
			aliveKnobs(func(c *hybrid.Config) *fsource.Config { return &c.Alive })...),
	}
)

func counterKnobs[C any](of func(*C) *counter.Config) []knob[C] {
	return []knob[C]{
		{"f", "how many members may be down; at most two less than all", func(c *C) any { return &of(c).F }},
		{"plain", "the paper's protocol: no leapfrog, no patience", func(c *C) any { return &of(c).Plain }},
		{"report", "after how long without answers the view says so; 0: never", func(c *C) any { return &of(c).Report }},
		{"limit", "after how long it names no leader; 0: never", func(c *C) any { return &of(c).Limit }},
	}
}

func queryKnobs[C any](of func(*C) *timefree.Config) []knob[C] {
	return []knob[C]{
		{"period", "the time from one query to the next", func(c *C) any { return &of(c).Period }},
		{"h", "how many queries in a row must miss a member", func(c *C) any { return &of(c).Patience }},
	}
}

func aliveKnobs[C any](of func(*C) *fsource.Config) []knob[C] {
	return []knob[C]{
		{"timeout", "how long a peer may be silent at first", func(c *C) any { return &of(c).Timeout }},
		{"grow", "what a mistake adds to that", func(c *C) any { return &of(c).Grow }},
		{"cap", "up to what", func(c *C) any { return &of(c).Cap }},
	}
}
