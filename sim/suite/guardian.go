package suite

import (
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// The rows that runs with guardians are counted for.
const (
	DeathReported  = "guardian reported a death"
	DeathBelieved  = "promise ended by the report of a death"
	ProgramOutlive = "program outlived its member"
)

// died makes what a machine gets for the report of a guardian.
func died(r *obituary.Report) protocol.Message { return &nerio.Died{Report: *r} }

// guard gives the members of every other run guardians. Some of these see a death late, are held up, or are killed with their members.
func guard(c *sim.Config) {
	d := sim.NewDice(c.Seed, 0x6a4d)
	if d.N(2) == 0 {
		return
	}
	c.Guardian = sim.GuardianSpec{
		Message: func(r obituary.Report) protocol.Message { return died(&r) },
		Detect:  sim.Delay{Min: 100 * time.Microsecond, Max: 2 * time.Millisecond, Tail: sim.Percent(10), TailStep: nerioLease / 2},
		Repeat:  1 + d.N(10), Every: sim.Between(time.Millisecond, 10*time.Millisecond),
		Late: sim.Percent(10), Tail: sim.Between(nerioLease/2, 20*nerioLease),
		Killed: sim.Percent(20), Outlive: sim.Percent(40), Anew: sim.Percent(30),
	}
}
