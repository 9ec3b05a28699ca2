package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// An unstable machine has an elector that may say anything at any time, at several members at once: now itself, now
// somebody else, now nobody. What it says must never matter but for how soon there is a leader.
type unstable struct {
	protocol.Incarnate
	protocol.Closable
	sim.Prover
	inner  protocol.Machine
	dice   *sim.Dice
	n      int
	every  sim.Delay
	change protocol.Time // when it says something else
}

// newUnstable puts an elector of that kind over a machine that takes Trusts. It changes its mind every so often.
func newUnstable(m protocol.Machine, b sim.Boot, every sim.Delay) *unstable {
	f := &unstable{inner: m, dice: sim.NewDice(b.Seed, 0xf1c1), n: b.Members, every: every, change: protocol.Never}
	f.Incarnate, _ = m.(protocol.Incarnate)
	f.Closable, _ = m.(protocol.Closable)
	f.Prover, _ = m.(sim.Prover)
	return f
}

// Clone returns a machine that goes its own way from here on.
func (f *unstable) Clone() protocol.Machine {
	c := *f
	c.inner = f.inner.(protocol.Explorable).Clone()
	c.Incarnate, _ = c.inner.(protocol.Incarnate)
	c.Closable, _ = c.inner.(protocol.Closable)
	c.Prover, _ = c.inner.(sim.Prover)
	return &c
}

// Step puts a word of the elector in the place of a Tick, which may come at any time anyway.
func (f *unstable) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if _, ok := ev.(protocol.Start); ok {
		f.change = now.Add(f.next())
	}
	if _, ok := ev.(protocol.Tick); ok && now >= f.change {
		f.change = now.Add(f.next())
		ev = protocol.Trusts{Leader: f.trusted(), Barred: f.barred()}
	}
	f.inner.Step(now, ev, out)
	out.Wake = min(out.Wake, f.change)
}

func (f *unstable) next() time.Duration { return max(1, f.dice.Draw(f.every)) }

// barred is nobody most of the time, and otherwise members that it draws.
func (f *unstable) barred() protocol.Set {
	var s protocol.Set
	for f.dice.N(3) == 0 {
		s.Add(protocol.Rank(f.dice.N(f.n)))
	}
	return s
}

func (f *unstable) trusted() protocol.Rank {
	if r := f.dice.N(f.n + 1); r < f.n {
		return protocol.Rank(r)
	}
	return protocol.Nobody
}
