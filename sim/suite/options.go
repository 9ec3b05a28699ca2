package suite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
)

// An Option is something that scenarios may change about how the members of a protocol are set up.
type Option struct {
	Name, About, Default string
}

// tunables are the protocols that have options.
var tunables = map[string]tunable{
	"timefree":   timefreeKnobs,
	"fsource":    fsourceKnobs,
	"hybrid":     hybridKnobs,
	"link":       linkKnobs,
	"rain gated": rainKnobs(rainVariants[0]),
	"rain plain": rainKnobs(rainVariants[1]),
	"rank": knobs[rank.Config]{
		base: func(b sim.Boot) rank.Config { return rank.Default(b.Self, b.Members, b.Inc) },
		spawn: func(c rank.Config, _ sim.Boot) (protocol.Machine, error) {
			return rank.New(c)
		},
		all: []knob[rank.Config]{
			{"period", "how often a member says that it is alive", func(c *rank.Config) any { return &c.Period }},
			{"timeout", "how long a peer may be silent at first", func(c *rank.Config) any { return &c.Timeout }},
			{"grow", "what a mistake adds to that", func(c *rank.Config) any { return &c.Grow }},
			{"cap", "up to what", func(c *rank.Config) any { return &c.Cap }},
		},
	},
	"nerio": knobs[nerioSetup]{
		base: func(b sim.Boot) nerioSetup { return nerioSetup{Config: NerioConfig(b)} },
		spawn: func(c nerioSetup, b sim.Boot) (protocol.Machine, error) {
			if c.skew > 0 {
				c.Skew = sameClock{c.skew}
			}
			return nerio.New(c.Config, b.Record, b.Seed)
		},
		all: []knob[nerioSetup]{
			{"roundtrip", "d: how long a request and its answer take when all is well", func(c *nerioSetup) any { return &c.RoundTrip }},
			{"lease", "δ: how long a lease is asked for", func(c *nerioSetup) any { return &c.Lease }},
			{"longest", "the longest lease that a voter grants", func(c *nerioSetup) any { return &c.Longest }},
			{"renew", "how often it is renewed", func(c *nerioSetup) any { return &c.Renew }},
			{"stopwithin", "how long a program may take to stop", func(c *nerioSetup) any { return &c.StopWithin }},
			{"adapt", "let δ follow the measured round trips", func(c *nerioSetup) any { return &c.Adapt }},
			{"diskless", "keep no record", func(c *nerioSetup) any { return &c.Diskless }},
			{"elector", "wait for an elector's word: trust", func(c *nerioSetup) any { return &c.Elector }},
			{"trustage", "take requests of any age, as the paper does", func(c *nerioSetup) any { return &c.TrustAge }},
			{"skew", "bounded skew in place of bounded drift; for clocks that show the same time", func(c *nerioSetup) any { return &c.skew }},
		},
	},
}

// nerioSetup is a configuration with what cannot be written as one value in a script.
type nerioSetup struct {
	nerio.Config
	skew time.Duration
}

// sameClock takes the members' own clocks for synchronised, which they are as long as a script leaves them alone.
type sameClock struct{ skew time.Duration }

func (s sameClock) At(now protocol.Time) protocol.Time { return now }
func (s sameClock) Skew() time.Duration                { return s.skew }
func (s sameClock) Slew() protocol.Rho                 { return protocol.DefaultRho }

// A tunable protocol has options.
type tunable interface {
	options() []Option
	with(p *Protocol, settings []string) (*Protocol, error)
}

// Options lists what can be changed about the protocol.
func (p *Protocol) Options() []Option {
	if t, ok := tunables[p.Name]; ok {
		return t.options()
	}
	return nil
}

// With returns the protocol with some options changed, each given as name=value. Random runs do not vary it any more.
func (p *Protocol) With(settings ...string) (*Protocol, error) {
	if len(settings) == 0 {
		return p, nil
	}
	t, ok := tunables[p.Name]
	if !ok {
		return nil, fmt.Errorf("%q: %s has no options", settings[0], p.Name)
	}
	return t.with(p, settings)
}

// knobs are the options of a protocol whose machines are made from a C.
type knobs[C any] struct {
	base  func(sim.Boot) C
	spawn func(C, sim.Boot) (protocol.Machine, error)
	all   []knob[C]
}

// A knob is one field of a configuration: a *time.Duration, a *bool or an *int.
type knob[C any] struct {
	name, about string
	field       func(*C) any
}

func (k knobs[C]) options() []Option {
	var all []Option
	c := k.base(sim.Boot{Members: 1, Inc: 1})
	for _, o := range k.all {
		def := ""
		switch f := o.field(&c).(type) {
		case *time.Duration:
			def = f.String()
		case *bool:
			def = strconv.FormatBool(*f)
		case *int:
			def = strconv.Itoa(*f)
		}
		all = append(all, Option{o.name, o.about, def})
	}
	return all
}

func (k knobs[C]) with(p *Protocol, settings []string) (*Protocol, error) {
	var turns []func(*C)
	for _, s := range settings {
		turn, err := k.turn(p.Name, s)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn)
	}
	tuned := *p
	tuned.Vary = nil
	tuned.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		c := k.base(b)
		for _, turn := range turns {
			turn(&c)
		}
		return k.spawn(c, b)
	}
	if _, err := tuned.Spawn(sim.Boot{Members: max(1, p.Members), Inc: 1}); err != nil {
		return nil, err
	}
	return &tuned, nil
}

// turn reads one setting.
func (k knobs[C]) turn(protocol, setting string) (func(*C), error) {
	name, value, _ := strings.Cut(setting, "=")
	var names []string
	for _, o := range k.all {
		names = append(names, o.name)
		if o.name != name {
			continue
		}
		var c C
		switch o.field(&c).(type) {
		case *time.Duration:
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, fmt.Errorf("%q: %s takes a length of time, such as %s=100ms", setting, name, name)
			}
			return func(c *C) { *o.field(c).(*time.Duration) = d }, nil
		case *bool:
			b, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("%q: %s takes true or false, such as %s=true", setting, name, name)
			}
			return func(c *C) { *o.field(c).(*bool) = b }, nil
		case *int:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%q: %s takes a number, such as %s=2", setting, name, name)
			}
			return func(c *C) { *o.field(c).(*int) = n }, nil
		}
	}
	return nil, fmt.Errorf("%q: %s has no such option; it has %s", setting, protocol, strings.Join(names, ", "))
}
