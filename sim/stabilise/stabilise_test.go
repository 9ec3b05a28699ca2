package stabilise

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/internal/protocol/phi"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// crowd draws how many members there are, one to six, and which of them are dead: often one of three or more.
func crowd(seed uint64) (members int, dead protocol.Set) {
	members = 1 + int(seed%6)
	if members > 2 && seed%2 == 0 {
		dead.Add(protocol.Rank(seed / 6 % uint64(members)))
	}
	return members, dead
}

func TestDetectConvergesFromAnyState(t *testing.T) {
	for seed := range uint64(600) {
		n, dead := crowd(seed)
		err := Run(n, seed, dead, 5*time.Second, func(b sim.Boot) (protocol.Corruptible, error) {
			return detect.New(detect.Default(b.Self, b.Members, b.Inc))
		}, func(w *sim.World) []check.Checker {
			return []check.Checker{check.NewOmega(w, 5*time.Second), check.NewTrusted(w, 5*time.Second)}
		})
		if err != nil {
			t.Fatalf("%d members, seed %d: %v", n, seed, err)
		}
	}
}

func TestRingConvergesFromAnyTimers(t *testing.T) {
	for seed := range uint64(300) {
		n, dead := crowd(seed)
		err := Run(n, seed, dead, 5*time.Second, func(b sim.Boot) (protocol.Corruptible, error) {
			c := ring.Default(b.Self, b.Members, b.Inc)
			c.Phi = phi.Threshold(8 * (seed / 36 % 2))
			return ring.New(c)
		}, func(w *sim.World) []check.Checker { return []check.Checker{check.NewOmega(w, 5*time.Second)} })
		if err != nil {
			t.Fatalf("%d members, seed %d: %v", n, seed, err)
		}
	}
}

func TestStableConvergesFromAnyState(t *testing.T) {
	const delta = 20 * time.Millisecond
	for name, change := range map[string]func(*stable.Config){
		"basic":    func(c *stable.Config) { c.Variant = stable.Basic },
		"reliable": func(c *stable.Config) { c.Variant = stable.Reliable },
		"lossy":    func(c *stable.Config) { c.Variant = stable.Lossy },
		"alerting": func(c *stable.Config) {},
		"pinging":  func(c *stable.Config) { c.Ping = true },
		"gated":    func(c *stable.Config) { c.Ping, c.Gate = true, protocol.Majority(c.Members) },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(60) {
				n := 2 + int(seed%5)
				err := Run(n, seed, protocol.Set{}, 3*time.Second, func(b sim.Boot) (protocol.Corruptible, error) {
					c := stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: delta, Delta: delta, Expiry: 15 * time.Millisecond,
						Rho: protocol.DefaultRho}
					change(&c)
					return stable.New(c)
				}, func(w *sim.World) []check.Checker { return []check.Checker{check.NewOmega(w, 3*time.Second)} })
				if err != nil {
					t.Fatalf("%d members, seed %d: %v", n, seed, err)
				}
			}
		})
	}
}
