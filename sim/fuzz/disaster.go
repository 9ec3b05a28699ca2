package fuzz

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// disasters draws what befalls councils that are given up: many members are away for long, somebody gives the council up at a member that is left, or at
// several, and in the midst of that those crash, lose their disks, go back to copies of before, or do not hear each other. They come besides the other faults.
func (d *generator) disasters(seed uint64, safety time.Duration) []sim.Fault {
	own := *d
	own.Dice = sim.NewDice(seed, 0xd15a)
	if !d.p.Disasters || d.n < 2 || own.N(4) == 0 {
		return nil
	}
	var all []sim.Fault
	for range 1 + own.N(2) {
		all = append(all, own.disaster(safety)...)
	}
	return all
}

func (d *generator) disaster(safety time.Duration) []sim.Fault {
	length := d.Between(2*time.Second, 5*time.Second)
	from := d.Between(time.Second, safety-length-2*spare)
	away := protocol.NewSet(protocol.Rank(d.N(d.n)))
	for away.Len() < d.n-1 && (away.Len() <= d.n/2 || d.N(3) == 0) {
		away.Add(protocol.Rank(d.N(d.n)))
	}
	left := slices.Collect(protocol.Everyone(d.n).Minus(away).All())
	someone := func() protocol.Rank { return left[d.N(len(left))] }
	var all []sim.Fault
	add := func(at, lasts time.Duration, f sim.Fault) {
		f.At, f.For = sim.Real(from+at), lasts
		all = append(all, f)
	}
	cut := d.N(2) == 0
	if cut {
		add(0, length, sim.Fault{Kind: sim.Partition, A: protocol.Nobody, B: protocol.Nobody, Side: away})
	} else {
		for r := range away.All() {
			add(d.Between(0, 300*time.Millisecond), length, sim.Fault{Kind: sim.Crash, A: r, B: protocol.Nobody})
		}
	}
	if len(left) > 1 && d.N(3) == 0 {
		// One agrees, is not heard, and the others hear meanwhile those that come back.
		asker := someone()
		add(length-30*time.Millisecond, 0, sim.Fault{Kind: sim.Change, A: asker, B: protocol.Nobody, Side: protocol.NewSet(left...), Amount: 2})
		add(length-30*time.Millisecond+d.Between(time.Millisecond, 15*time.Millisecond), d.Between(500*time.Millisecond, time.Second), sim.Fault{Kind: sim.Cut, A: asker, B: protocol.Nobody})
		return all
	}
	asked := d.Between(length/3, length)
	if d.N(3) == 0 {
		asked = length - d.Between(0, 200*time.Millisecond) // the others come back meanwhile
	}
	for range 1 + d.N(4) {
		f := sim.Fault{Kind: sim.Change, A: someone(), B: protocol.Nobody, Side: protocol.NewSet(left...), Amount: 2}
		if d.N(8) == 0 {
			f.Amount = 8
		}
		add(asked+d.Between(0, 400*time.Millisecond)>>d.N(8), 0, f)
	}
	for range d.N(5) {
		f := sim.Fault{Kind: sim.Crash, A: someone(), B: protocol.Nobody}
		switch d.N(8) {
		case 0:
			f.Disk = sim.Lost
		case 3:
			if !d.p.Backups {
				break
			}
			f.Disk, f.Amount = sim.Known, int64(1+d.N(4))
		case 4:
			if d.p.Snapshots {
				f.Kind = sim.Snapshot
			}
		case 1:
			f.Kind, f.Amount = sim.SlowDisk, int64(d.Between(time.Millisecond, 200*time.Millisecond))
		case 2:
			if to := someone(); to != f.A {
				f.Kind, f.B = sim.Cut, to
			}
		}
		add(asked+d.Between(0, 600*time.Millisecond)>>d.N(4), d.length(), f)
	}
	if cut && len(left) > 1 && d.N(2) == 0 && d.p.Snapshots { // those that are cut off run: a survivor that goes back can be told only while all do
		add(asked-d.Between(0, 50*time.Millisecond), d.Between(100*time.Millisecond, time.Second), sim.Fault{Kind: sim.Snapshot, A: someone(), B: protocol.Nobody})
	}
	return all
}
