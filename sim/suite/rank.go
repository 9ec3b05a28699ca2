package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// rankProtocol is the plain elector. It has no leases, so nothing can go wrong while links are bad; it must agree once
// they are good, whichever members are left.
func rankProtocol() *Protocol {
	const settle = 4 * time.Second
	return &Protocol{
		Name:       "rank",
		About:      "the best-ranked member heard lately leads (the plain elector)",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return rank.New(rank.Default(b.Self, b.Members, b.Inc))
		},
		Messages: []string{"rank.OK"},
		Port:     pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 120 * time.Millisecond}),
		Checkers: func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewOmega(t, settle)}
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 4}, {sim.Slow, 6},
			{sim.Lose, 4}, {sim.Duplicate, 3}, {sim.Rate, 3}, {sim.Jump, 1},
		},
		// A period and the longest delay, on the slowest pair of clocks, stay below the first time-out.
		Timely: 40 * time.Millisecond,
		Settle: settle,
		Core:   func(int) int { return 1 },
		Rows:   Rows,
	}
}
