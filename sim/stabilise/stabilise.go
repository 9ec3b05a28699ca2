// Package stabilise simulates machines whose state was corrupted, and checks that they converge.
package stabilise

import (
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// machine corrupts a machine once, at its first Tick.
type machine struct {
	protocol.Machine
	throw func(*rand.Rand) protocol.Fact // nil: it was done
	r     *rand.Rand
}

func (m *machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if _, tick := ev.(protocol.Tick); tick && m.throw != nil {
		out.Facts = append(out.Facts, m.throw(m.r)) // its output was corrupted with the rest
		m.throw = nil
	}
	m.Machine.Step(now, ev, out)
}

// Run starts members, corrupts each of them, and gives those that are not dead the settle time to converge. The dead ones
// crash before they have sent anything that could correct what the others believe of them.
func Run(members int, seed uint64, dead protocol.Set, settle time.Duration, spawn func(sim.Boot) (protocol.Corruptible, error),
	checkers func(*sim.World) []check.Checker) error {
	w, err := sim.New(sim.Config{Members: members, Seed: seed, Spawn: func(b sim.Boot) (protocol.Machine, error) {
		m, err := spawn(b)
		if err != nil {
			return nil, err
		}
		return &machine{m, m.Corrupt, rand.New(rand.NewPCG(b.Seed, 1))}, nil
	}})
	if err != nil {
		return err
	}
	all := checkers(w)
	for _, c := range all {
		w.Observe(c)
	}
	for r := range dead.All() {
		w.Schedule(sim.Fault{At: sim.Real(time.Microsecond), Kind: sim.Crash, A: r})
	}
	w.Phase(sim.Liveness, protocol.Everyone(members).Minus(dead))
	if err := w.Run(sim.Real(settle + time.Second)); err != nil {
		return err
	}
	for _, c := range all {
		if err := c.Finish(); err != nil {
			return err
		}
	}
	return nil
}
