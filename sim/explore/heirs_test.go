package explore

import (
	"testing"

	"github.com/regentproject/regent/sim/effort"
)

// Four members, two of them lost for good; one crash, one lost disk, or one message that is late or lost, at any point.
func TestNoReachableStateOfARecoveryBreaksAnInvariant(t *testing.T) {
	for _, c := range []struct {
		name     string
		quarters int
		set      func(*Options)
		states   int // at most
	}{
		{"nothing goes wrong", 14, func(*Options) {}, 0},
		{"a crash and a restart at any point", 12, func(o *Options) { o.Crashes = 1 }, 0},
		{"a message that is late or lost", 12, func(o *Options) { o.Coarse, o.Holds = true, 1 }, effort.Pick(5_000, 60_000, 0)},
		{"a message that is late or lost, and a crash", 10, func(o *Options) { o.Coarse, o.Holds, o.Crashes = true, 1, 1 }, effort.Pick(1_000, 20_000, 0)},
		{"a crash and a lost disk at any point", 12, func(o *Options) { o.Coarse, o.Crashes, o.Lost = true, 1, 1 }, effort.Pick(5_000, 60_000, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Heirs(c.quarters)
			c.set(&o)
			o.States = c.states
			r := clean(t, o)
			if c.states == 0 && !r.Complete {
				t.Error("not all states were visited")
			}
			if r.Complete && (r.Stopped == 0 || r.GivenUp == 0) {
				t.Errorf("nothing was shown: %s", r.String())
			}
		})
	}
}
