// Package scramble is for tests of self-stabilisation: machines that are thrown into states to which no run leads, and must
// come back to order by themselves.
package scramble

import (
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/check"
)

// Instant returns any instant: one of the first second half of the time, else one that may be ages away, or Never.
func Instant(r *rand.Rand) protocol.Time {
	switch r.IntN(4) {
	case 0:
		return protocol.Never
	case 1:
		return protocol.Time(r.Int64())
	}
	return protocol.Time(r.Int64N(int64(time.Second)))
}

// Number returns any number, small ones as often as large ones.
func Number(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(64) }

// Crowd draws how many members there are, one to six, and which of them are dead: often one of three or more.
func Crowd(seed uint64) (members int, dead protocol.Set) {
	members = 1 + int(seed%6)
	if members > 2 && seed%2 == 0 {
		dead.Add(protocol.Rank(seed / 6 % uint64(members)))
	}
	return members, dead
}

// A Throw throws a machine over, and returns what the machine then seems to have said last.
type Throw func(r *rand.Rand) protocol.Fact

// machine is thrown over once, at its first Tick.
type machine struct {
	protocol.Machine
	throw Throw
	r     *rand.Rand
}

func (m *machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if _, tick := ev.(protocol.Tick); !tick || m.throw == nil {
		m.Machine.Step(now, ev, out)
		return
	}
	out.Facts = append(out.Facts, m.throw(m.r)) // its output was thrown over with the rest
	m.throw = nil
	m.Machine.Step(now, ev, out)
}

// Run lets members start, throws each of them over, and gives those that are not dead the settle time to get over it.
// The dead ones crash before they have said anything that could set the others right about them. Spawn returns a machine and how it is thrown over.
func Run(members int, seed uint64, dead protocol.Set, settle time.Duration, spawn func(sim.Boot) (protocol.Machine, Throw, error),
	checkers func(*sim.World) []check.Checker) error {
	w, err := sim.New(sim.Config{Members: members, Seed: seed, Spawn: func(b sim.Boot) (protocol.Machine, error) {
		m, throw, err := spawn(b)
		return &machine{m, throw, rand.New(rand.NewPCG(b.Seed, 1))}, err
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
