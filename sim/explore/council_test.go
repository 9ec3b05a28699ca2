package explore

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/sim/effort"
)

// chosen are the messages that bring a configuration.
func chosen(m protocol.Message) bool {
	_, ok := m.(*council.Chosen)
	return ok
}

// Three members, one step, one crash and one lost disk, at any point.
func TestNoReachableStateOfAChangeBreaksAnInvariant(t *testing.T) {
	for _, c := range []struct {
		name     string
		quarters int
		set      func(*Options)
		states   int // at most
	}{
		{"nothing goes wrong", 16, func(*Options) {}, 0},
		{"a crash and a restart at any point", 12, func(o *Options) { o.Crashes = 1 }, 0},
		{"a crash and a lost disk at any point", 12, func(o *Options) { o.Crashes, o.Lost = 1, 1 }, 0},
		{"a crash, a lost disk, and two members that learn late what was chosen", 6, func(o *Options) {
			o.Coarse, o.Crashes, o.Lost, o.Holds, o.Holdable = true, 1, 1, 2, chosen
		}, effort.Pick(2_000, 30_000, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Council(c.quarters)
			c.set(&o)
			o.States = c.states
			r := clean(t, o)
			if c.states == 0 && !r.Complete {
				t.Error("not all states were visited")
			}
			if r.Number == 0 || r.Complete && o.Lost > 0 && r.Recovered == 0 {
				t.Errorf("nothing was shown: %s", r.String())
			}
		})
	}
}
