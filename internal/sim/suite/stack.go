package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/check"
)

// stackSettle is how long the elector may take to agree and, after that, quorum leases to follow it.
const stackSettle = 4*time.Second + nerioSettle

// stackProtocol is quorum leases over an elector: the trusted member tries first, others after a while.
func stackProtocol() *Protocol {
	p := nerioProtocol()
	p.Name = "stack"
	p.About = "at most one leader anywhere, by leases of a quorum; whom the plain elector trusts tries first"
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) { return newStack(b, NerioConfig(b)) }
	p.Messages = append(p.Messages, "rank.OK")
	p.Vary = func(c *sim.Config) {
		d := sim.NewDice(c.Seed, 0x57ac)
		diskless, adapt := d.N(6) == 0, d.N(3) == 0
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			cfg := NerioConfig(b)
			cfg.Diskless, cfg.Adapt = diskless, adapt
			return newStack(b, cfg)
		}
	}
	groups := p.Groups
	// The elector's own promise is checked where it runs alone: here a member that cannot recover trusts nobody for good.
	p.Checkers = func(t check.Truth) []check.Checker { return nerioCheckers(t, groups, stackSettle) }
	p.Settle = stackSettle
	return p
}

func newStack(b sim.Boot, cfg nerio.Config) (protocol.Machine, error) {
	cfg.Elector = true
	m, err := nerio.New(cfg, b.Record, b.Seed)
	if err != nil {
		return nil, err
	}
	return stack.New(m, func(inc protocol.Inc) (protocol.Machine, error) {
		return rank.New(rank.Default(b.Self, b.Members, inc))
	}), nil
}
