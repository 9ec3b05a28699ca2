package nerio

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

func TestFreshCouncilElectsItsOnlyCandidate(t *testing.T) {
	d := newDriver(t, config(3))
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 0, true)
	d.Run(5000 * ms)
	d.expect("g", 0, true)
}

func TestLeaderThatCrashesIsReplacedAfterItsLease(t *testing.T) {
	d := newDriver(t, config(3))
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	d.Step(1, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 0, true)
	d.Crash(0)
	d.Run(150 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Fatalf("%v lead while the promises to the dead leader stand", l)
	}
	d.Run(100 * ms)
	d.expect("g", 1, true)
}
