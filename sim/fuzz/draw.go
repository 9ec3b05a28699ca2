package fuzz

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Draw turns a seed into a plan for so many members that lasts for the given time.
func Draw(p *suite.Protocol, members int, seed uint64, length time.Duration) (Plan, error) {
	if members < p.MinMembers || members > protocol.MaxMembers {
		return Plan{}, fmt.Errorf("fuzz: %d members: %s takes between %d and %d", members, p.Name, p.MinMembers, protocol.MaxMembers)
	}
	least := leastFor(p)
	if length < least {
		return Plan{}, fmt.Errorf("fuzz: runs of %v: %s needs %v, half of them to converge", length, p.Name, least)
	}
	liveness := max(least/2, length/4)
	d := generator{Dice: sim.NewDice(seed, 0xfa17), p: p, n: members}
	pl := Plan{
		Protocol: p.Name,
		Members:  members,
		Seed:     seed,
		Safety:   length - liveness,
		Liveness: liveness,
	}
	pl.Clocks = d.clocks()
	pl.Link = d.link()
	pl.Timer = sim.Between(0, d.Between(0, 5*time.Millisecond))
	pl.Spurious = sim.Odds(d.N(int(sim.Percent(5))))
	pl.Bound = sim.Bound{Slack: sim.Between(0, d.Between(0, p.Timely)), Unknown: sim.Odds(d.N(int(sim.Percent(2))))}
	pl.Program = d.program()
	pl.Stagger = sim.Between(0, d.Between(0, 500*time.Millisecond))
	pl.Ports = p.Port != nil && d.N(4) == 0
	d.ports = pl.Ports
	pl.Core = d.core()
	pl.Faults = d.faults(pl.Safety)
	pl.Faults = append(pl.Faults, d.renewed(seed, pl.Safety)...)
	pl.Faults = append(pl.Faults, d.disasters(seed, pl.Safety)...)
	slices.SortStableFunc(pl.Faults, func(a, b sim.Fault) int { return int(a.At - b.At) })
	return pl, pl.Check(p)
}

// A generator draws the parts of a plan.
type generator struct {
	*sim.Dice
	p     *suite.Protocol
	n     int
	ports bool
}

// clocks draws where each clock starts and how it runs: at the bounds as often as between them.
func (d *generator) clocks() []sim.ClockSpec {
	specs := make([]sim.ClockSpec, d.n)
	for i := range specs {
		specs[i] = sim.ClockSpec{
			Offset: protocol.Time(d.Uint64() >> (8 + d.N(48))),
			Rate:   d.rate(),
		}
	}
	return specs
}

func (d *generator) rate() int64 {
	rho := int64(d.p.Rho)
	switch d.N(4) {
	case 0:
		return rho
	case 1:
		return -rho
	case 2:
		return 0
	}
	return int64(d.Between(time.Duration(-rho), time.Duration(rho)))
}

// link draws how links are on a normal day: some are quick, some lossy.
func (d *generator) link() sim.Link {
	l := sim.Link{Delay: sim.Between(d.Between(10*time.Microsecond, d.p.Timely/4), d.Between(d.p.Timely/4, d.p.Timely))}
	if d.N(2) == 0 {
		l.Delay.Tail, l.Delay.TailStep = sim.Percent(1), d.p.Timely
	}
	if d.N(2) == 0 {
		l.Loss = sim.Odds(d.N(int(sim.Percent(5))))
	}
	if d.N(2) == 0 {
		l.Duplicate = sim.Odds(d.N(int(sim.Percent(5))))
	}
	return l
}

// program draws how leading programs behave.
func (d *generator) program() sim.ProgramSpec {
	return sim.ProgramSpec{
		Act:      sim.Between(time.Microsecond, 20*time.Millisecond),
		Stop:     sim.Between(0, d.Between(0, 300*time.Millisecond)),
		Stubborn: sim.Odds(d.N(3)) * sim.Percent(10),
		Again:    sim.Between(time.Millisecond, 500*time.Millisecond),
	}
}

// core draws who must converge: everybody, or as many as the protocol needs or more.
func (d *generator) core() protocol.Set {
	core := protocol.Everyone(d.n)
	if d.N(2) == 0 {
		return core
	}
	for spare := d.N(d.n - d.p.Core(d.n) + 1); spare > 0; {
		if r := protocol.Rank(d.N(d.n)); core.Has(r) {
			core.Remove(r)
			spare--
		}
	}
	return core
}

// faults draws a schedule: episodes of a few faults each that fall into one another.
func (d *generator) faults(safety time.Duration) []sim.Fault {
	var all []sim.Fault
	episodes := 1 + d.N(1+int(safety/time.Second))
	for range episodes {
		from := d.Between(0, safety)
		for range 1 + d.N(4) {
			at := min(safety, from+d.Between(0, 500*time.Millisecond))
			all = append(all, d.fault(sim.Real(at)))
		}
	}
	slices.SortStableFunc(all, func(a, b sim.Fault) int { return int(a.At - b.At) })
	return all
}

// renewed draws restarts after which members are not what they were: with a backup that another can recognise, all with
// another configuration, or from a snapshot of the running machine; and changes of keys. They come besides the other faults, each in a third of the runs.
func (d *generator) renewed(seed uint64, safety time.Duration) []sim.Fault {
	own := *d
	own.Dice = sim.NewDice(seed, 0x2e17)
	var all []sim.Fault
	if own.N(3) == 0 && d.p.Backups {
		for range 1 + own.N(6) {
			f := sim.Fault{Kind: sim.Crash, A: own.member(), B: protocol.Nobody, For: own.length(), Disk: sim.Known, Amount: int64(1 + own.N(4))}
			f.At = sim.Real(own.Between(0, safety-f.For-spare))
			all = append(all, f)
		}
	}
	if own.N(3) == 0 && d.p.Settings > 1 {
		for range 1 + own.N(3) {
			f := sim.Fault{Kind: sim.Roll, A: protocol.Nobody, B: protocol.Nobody, For: own.length() / time.Duration(d.n), Amount: int64(own.N(d.p.Settings))}
			f.At = sim.Real(own.Between(0, safety-time.Duration(d.n)*f.For-spare))
			all = append(all, f)
		}
	}
	if own.N(3) == 0 && d.p.Snapshots {
		for range 1 + own.N(6) {
			f := sim.Fault{Kind: sim.Snapshot, A: own.member(), B: protocol.Nobody, For: own.length()}
			f.At = sim.Real(own.Between(0, safety-f.For-spare))
			all = append(all, f)
		}
	}
	if own.N(3) == 0 && d.p.Keys {
		for range 1 + own.N(6) {
			f := sim.Fault{Kind: sim.Rotate, A: own.member(), B: protocol.Nobody, For: own.length()}
			if own.N(2) == 0 && d.n > 1 {
				f.Kind = sim.Revoke
				for f.B = protocol.Rank(own.N(d.n)); f.B == f.A; {
					f.B = protocol.Rank(own.N(d.n))
				}
				if own.N(4) == 0 {
					f.B = protocol.Nobody
				}
			}
			f.At = sim.Real(own.Between(0, safety-f.For-spare))
			all = append(all, f)
		}
	}
	return all
}

// spare is how long before the end of the safety phase the last of them is over.
const spare = time.Second

// length draws how long a fault lasts: milliseconds as often as seconds.
func (d *generator) length() time.Duration {
	longest := 2 * time.Second >> d.N(9)
	return d.Between(longest/2, longest)
}

// member draws the member that a fault befalls: the leader every other time.
func (d *generator) member() protocol.Rank {
	if d.N(2) == 0 {
		return sim.TheLeader
	}
	return protocol.Rank(d.N(d.n))
}

// fault draws one fault.
func (d *generator) fault(at sim.Real) sim.Fault {
	f := sim.Fault{At: at, For: d.length(), Kind: d.kind(), A: d.member(), B: protocol.Nobody}
	switch f.Kind {
	case sim.Crash:
		f.Disk = sim.Disk(d.N(4))
		if disks := d.p.Disks; disks != nil {
			f.Disk = disks[d.N(len(disks))]
		}
		f.Amount = int64(1 + d.N(4))
	case sim.Cut, sim.Slow, sim.Lose, sim.Duplicate:
		d.pair(&f)
	case sim.Partition:
		f.A = protocol.Nobody
		for r := range protocol.Rank(d.n) {
			if d.N(2) == 0 {
				f.Side.Add(r)
			}
		}
	case sim.Campaign, sim.Resign, sim.Transfer, sim.Find, sim.Verify, sim.Leave:
		d.request(&f)
	case sim.Change:
		d.change(&f)
	case sim.Rate:
		f.Amount = d.rate()
	case sim.Jump:
		f.For, f.Amount = 0, int64(d.Between(time.Millisecond, 2*time.Second))
	case sim.SlowDisk:
		f.Amount = int64(d.Between(time.Millisecond, 200*time.Millisecond))
	}
	switch f.Kind {
	case sim.Slow:
		f.Amount = int64(d.Between(d.p.Timely, time.Second))
	case sim.Lose, sim.Duplicate:
		f.Amount = int64(sim.Percent(int64(10 + d.N(91))))
	}
	return f
}

// pair draws the link that a fault is on: often one in or out of the leader, sometimes all of a member's.
func (d *generator) pair(f *sim.Fault) {
	f.B = protocol.Rank(d.N(d.n))
	if d.N(4) == 0 {
		f.B = protocol.Nobody
	}
	for f.B == f.A && d.n > 1 {
		f.B = protocol.Rank(d.N(d.n))
	}
	if d.N(2) == 0 {
		f.A, f.B = f.B, f.A
	}
}

// request draws what somebody asks of a member.
func (d *generator) request(f *sim.Fault) {
	if len(d.p.Groups) > 0 {
		f.Group = d.p.Groups[d.N(len(d.p.Groups))]
	}
	switch f.Kind {
	case sim.Leave:
		f.Amount = int64(d.Between(time.Millisecond, time.Second))
		return
	case sim.Transfer:
		f.B = protocol.Rank(d.N(d.n))
	case sim.Verify:
		f.Amount = int64(d.Between(0, 100*time.Millisecond))
	}
	f.For = 0
}

// change draws what the council is to be: a few members, or as it was before.
func (d *generator) change(f *sim.Fault) {
	f.A, f.For = protocol.Rank(d.N(d.n)), 0
	if d.N(5) == 0 {
		return
	}
	for range 1 + d.N(d.n) {
		f.Side.Add(protocol.Rank(d.N(d.n)))
	}
	f.Amount = int64(d.N(8))
}

// kind draws a kind of fault by its weight.
func (d *generator) kind() sim.Kind {
	total := 0
	for _, w := range d.p.Faults {
		total += d.weight(w)
	}
	pick := d.N(total)
	for _, w := range d.p.Faults {
		if pick -= d.weight(w); pick < 0 {
			return w.Kind
		}
	}
	panic("fuzz: " + d.p.Name + " has no faults to draw from")
}

// weight returns how often a kind is drawn. The datagram layer proves nothing about clocks that stop or jump, so where it
// takes part they do neither.
func (d *generator) weight(w suite.Weight) int {
	if d.ports && (w.Kind == sim.Halt || w.Kind == sim.Jump) {
		return 0
	}
	return w.Weight
}
