package nerio

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

func TestFreshCouncilElectsItsOnlyCandidate(t *testing.T) {
	d := newDriver(t, config(3))
	d.step(0, protocol.Campaign{Group: "g"})
	d.run(100 * ms)
	d.expect("g", 0, true)
	d.run(5000 * ms)
	d.expect("g", 0, true)
}

func TestLeaderThatCrashesIsReplacedAfterItsLease(t *testing.T) {
	d := newDriver(t, config(3))
	d.step(0, protocol.Campaign{Group: "g"})
	d.run(100 * ms)
	d.step(1, protocol.Campaign{Group: "g"})
	d.run(100 * ms)
	d.expect("g", 0, true)
	d.crash(0)
	d.run(150 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Fatalf("%v lead while the promises to the dead leader stand", l)
	}
	d.run(100 * ms)
	d.expect("g", 1, true)
}
