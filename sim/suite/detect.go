package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// detectProtocol is ◇P: in the end everybody knows who is alive, over the links of one member.
func detectProtocol() *Protocol {
	return &Protocol{
		Name:       "detect",
		About:      "in the end everybody knows exactly who is alive, over n links (Stable, Fig. 6)",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return detect.New(detect.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: stableDelta, Delta: stableDelta,
				Expiry: stableExpiry, Rho: protocol.DefaultRho})
		},
		Messages:  []string{"detect.OK", "detect.ACK", "detect.START"},
		Port:      pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: stableExpiry}),
		Configure: configureStable,
		Checkers: func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewOmega(t, stableSettle), check.NewNumbered(t, stableSettle),
				check.NewTrusted(t, stableSettle), check.NewQuiet(t, stableSettle, true)}
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 4}, {sim.Slow, 6},
			{sim.Lose, 4}, {sim.Duplicate, 3}, {sim.Rate, 3}, {sim.Jump, 1},
		},
		Timely: stableTimely,
		Assume: oneAccessible,
		Settle: stableSettle,
		Core:   func(int) int { return 1 },
		Rows:   Rows,
	}
}
