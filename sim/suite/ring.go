package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// ringProtocols are the ring of Nerio §9, with time-outs and with φ-accrual.
func ringProtocols() []*Protocol {
	return []*Protocol{
		ringProtocol("ping", "members watch over their neighbours in a ring, by time-outs (Nerio, section 9)", false),
		ringProtocol("phi", "members watch over their neighbours in a ring, by φ-accrual (Nerio, section 9)", true),
	}
}

func ringProtocol(variant, about string, accrual bool) *Protocol {
	const settle = 4 * time.Second
	return &Protocol{
		Name:       "ring " + variant,
		Default:    !accrual,
		About:      about,
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			c := ring.Default(b.Self, b.Members, b.Inc)
			if accrual {
				c.Phi = 8
			}
			return ring.New(c)
		},
		Messages: []string{"ring.Beat"},
		Port:     pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 120 * time.Millisecond}),
		Checkers: func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewOmega(t, settle)}
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 4}, {sim.Slow, 6},
			{sim.Lose, 4}, {sim.Duplicate, 3}, {sim.Rate, 3}, {sim.Jump, 1},
		},
		// A period, a late timer and the longest delay stay below the time-out.
		Timely: 40 * time.Millisecond,
		Settle: settle,
		Core:   func(int) int { return 1 },
		Rows:   Rows,
	}
}
