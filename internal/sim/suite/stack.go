package suite

import (
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/check"
)

// stackSettle is how long the elector may take to agree and, after that, quorum leases to follow it.
const stackSettle = 4*time.Second + nerioSettle

// An elector is what quorum leases can stand on.
type elector struct {
	name, about string
	messages    []string
	spawn       func(b sim.Boot, inc protocol.Inc) (protocol.Machine, error)
}

// Electors by the second word of the stack's name; the plain one has none.
var electors = []elector{
	{"", "whom the plain elector trusts tries first", []string{"rank.OK"},
		func(b sim.Boot, inc protocol.Inc) (protocol.Machine, error) {
			return rank.New(rank.Default(b.Self, b.Members, inc))
		}},
	{"ring", "whom the ring trusts tries first", []string{"ring.Beat"},
		func(b sim.Boot, inc protocol.Inc) (protocol.Machine, error) {
			return ring.New(ring.Default(b.Self, b.Members, inc))
		}},
	{"stable", "whom the stable elector trusts tries first, and nobody moves on without a quorum", stableMessages,
		func(b sim.Boot, inc protocol.Inc) (protocol.Machine, error) {
			c := stable.Default(b.Self, b.Members, inc)
			// The links of this council are good if they take no longer than nerioTimely, by a bound of three times that.
			c.Expiry, c.Gate = 3*nerioTimely, protocol.Majority(b.Members)
			c.Delta = c.Expiry + 6*time.Millisecond
			c.Period = c.Delta / 2
			return stable.New(c)
		}},
}

// stackProtocols are quorum leases over each elector: the trusted member tries first, others after a while.
func stackProtocols() []*Protocol {
	var all []*Protocol
	for _, e := range electors {
		all = append(all, stackProtocol(e))
	}
	return all
}

func stackProtocol(e elector) *Protocol {
	p := nerioProtocol()
	p.Name = strings.TrimSpace("stack " + e.name)
	p.About = "at most one leader anywhere, by leases of a quorum; " + e.about
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) { return newStack(b, NerioConfig(b), e) }
	p.Messages = append(p.Messages, e.messages...)
	p.Vary = func(c *sim.Config) {
		d := sim.NewDice(c.Seed, 0x57ac)
		diskless, adapt := d.N(6) == 0, d.N(3) == 0
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			cfg := NerioConfig(b)
			cfg.Diskless, cfg.Adapt = diskless, adapt
			return newStack(b, cfg, e)
		}
	}
	groups := p.Groups
	// The elector's own promise is checked where it runs alone: here a member that cannot recover trusts nobody for good.
	p.Checkers = func(t check.Truth) []check.Checker { return nerioCheckers(t, groups, stackSettle) }
	p.Settle = stackSettle
	return p
}

func newStack(b sim.Boot, cfg nerio.Config, e elector) (protocol.Machine, error) {
	cfg.Elector = true
	m, err := nerio.New(cfg, b.Record, b.Seed)
	if err != nil {
		return nil, err
	}
	return stack.New(stack.Config{Self: b.Self, Roles: stack.Roles{Members: b.Members}}, m, func(inc protocol.Inc) (protocol.Machine, error) { return e.spawn(b, inc) })
}
