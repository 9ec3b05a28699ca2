package checkpoints

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/checkpoint/code"
	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// calm is after what time all members that failed are back, and recovered.
const calm = 20 * time.Second

// interval is after how many frames a program saves its state.
const interval = 4

// A Run is one run of programs: what it is made of, and what came of it.
type Run struct {
	Seed          uint64
	Members, Data int
	Keys          int
	Frames        uint64
	Size          int // of a state, in bytes
	Rounds        int // of faults
	// Hurry is by what frames take less time; 0: nothing.
	Hurry int
	// Line is how many bytes of shares leave a member in a second; 0: any number. Scale is how many bytes each byte of a state stands for.
	Line, Scale int
	// Computed, Repeated, Resumed, Recovered and Waited count frames, frames computed again, keys inherited from a checkpoint, views
	// recovered, and heirs that found a newer checkpoint out of reach.
	Computed, Repeated, Resumed, Recovered, Waited int

	config core.Config
	disks  []*platter
}

// works reports whether a program may compute the next frame of a tile: at most an interval beyond what is complete.
func (r *Run) works(t *tile) bool { return t.seq < r.Frames && t.seq < t.complete+interval }

// Play runs to the end, or to the first violation.
func (r *Run) Play() error {
	w, watch, err := r.open()
	if err != nil {
		return err
	}
	d := sim.NewDice(r.Seed, 0xfa11)
	at := sim.Real(3 * time.Second)
	for range r.Rounds {
		if d.N(3) > 0 || r.config.Tolerates() < 2 {
			r.lose(w, d, at, r.config.Tolerates())
			at = at.Add(d.Between(500*time.Millisecond, 6*time.Second))
			continue
		}
		// A damaged share is a failure, too. All others are over when it comes.
		at = at.Add(calm)
		victim, pick, bit := r.disks[d.N(r.Members)], d.Uint64(), d.Uint64()
		w.At(at, func() { victim.spoil(pick, bit) })
		r.lose(w, d, at, r.config.Tolerates()-1)
		at = at.Add(calm)
	}
	if err := w.Run(at.Add(10 * time.Second)); err != nil {
		return err
	}
	w.Heal(protocol.Everyone(r.Members))
	w.At(w.Now().Add(calm), func() {
		for _, disk := range r.disks {
			disk.spoil(d.Uint64(), d.Uint64())
		}
	})
	if err := w.Run(w.Now().Add(2 * calm)); err != nil {
		return err
	}
	// Faults cost work, and a state that is out of reach costs time. What goes on gets the time that it needs.
	for end := w.Now().Add(3 * time.Minute); !watch.done() && w.Now() < end; {
		if err := w.Run(w.Now().Add(calm)); err != nil {
			return err
		}
	}
	return watch.finish(w.Now())
}

// open makes a world of programs that have all just been founded.
func (r *Run) open() (*sim.World, *watch, error) {
	c, err := code.New(r.Data, r.Members)
	if err != nil {
		return nil, nil, err
	}
	r.config = core.Config{Members: r.Members, Data: r.Data, Coder: c}
	for i := range r.Keys {
		r.config.Keys = append(r.config.Keys, fmt.Sprintf("tile%02d", i))
	}
	if err := r.config.Check(); err != nil {
		return nil, nil, err
	}
	for range r.Members {
		r.disks = append(r.disks, &platter{files: make(map[string][]byte), seed: true})
	}
	w, err := sim.New(sim.Config{Members: r.Members, Seed: r.Seed, Spawn: r.spawn, Groups: []protocol.Group{suite.RainGroup}, Bound: sim.Bound{Old: true},
		Link: sim.Link{Delay: sim.Between(time.Millisecond, 5*time.Millisecond), Loss: sim.Percent(1), Duplicate: sim.Percent(1)}, Stagger: sim.Between(0, 200*time.Millisecond)})
	if err != nil {
		return nil, nil, err
	}
	watch := newWatch(r)
	w.Observe(watch)
	return w, watch, nil
}

// lose has up to so many members fail, in some way each.
func (r *Run) lose(w *sim.World, d *sim.Dice, at sim.Real, most int) {
	ranks := make([]protocol.Rank, r.Members)
	for i := range ranks {
		ranks[i] = protocol.Rank(i)
	}
	for i := range ranks {
		j := i + d.N(len(ranks)-i)
		ranks[i], ranks[j] = ranks[j], ranks[i]
	}
	lost := ranks[:1+d.N(most)]
	if d.N(4) == 0 {
		var side protocol.Set
		for _, a := range lost {
			side.Add(a)
		}
		w.Schedule(sim.Fault{At: at, For: d.Between(time.Second, 5*time.Second), Kind: sim.Partition, Side: side})
		lost = nil
	}
	for _, a := range lost {
		f := sim.Fault{At: at.Add(d.Between(0, 1500*time.Millisecond)), For: d.Between(300*time.Millisecond, 5*time.Second), A: a, B: protocol.Nobody}
		switch d.N(4) {
		case 0, 1:
			f.Kind, f.Disk = sim.Crash, sim.Kept
		case 2:
			f.Kind = sim.Pause
		case 3:
			f.Kind = sim.Suspend
		}
		w.Schedule(f)
	}
}

// spoil flips a bit of some share.
func (p *platter) spoil(pick, bit uint64) {
	names, _ := p.List()
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "share-") })
	if len(names) == 0 {
		return
	}
	b := p.files[names[pick%uint64(len(names))]]
	b[bit%uint64(len(b))] ^= 1 << (bit >> 60 & 7)
}

// A Recovery is how long it took after a crash: until all others were in a view without the member, until the first key went on, and until all keys
// had a complete checkpoint in that view.
type Recovery struct{ Agreed, Resumed, Safe time.Duration }

// settle makes a world in which all keys have a checkpoint, and returns the last member that works on keys.
func (r *Run) settle() (*sim.World, *watch, protocol.Rank, error) {
	w, watch, err := r.open()
	if err != nil {
		return nil, nil, 0, err
	}
	for !r.safe(w, watch) {
		if err := w.Run(w.Now().Add(100 * time.Millisecond)); err != nil {
			return nil, nil, 0, err
		}
		if w.Now() > sim.Real(5*time.Minute) {
			return nil, nil, 0, fmt.Errorf("seed %d: not all keys have a checkpoint after 5 min without faults", r.Seed)
		}
	}
	if err := w.Run(w.Now().Add(5 * time.Second)); err != nil {
		return nil, nil, 0, err
	}
	last := protocol.Rank(r.Members - 1)
	for last > 0 && len(w.Machine(last).(*member).tiles) == 0 {
		last--
	}
	return w, watch, last, nil
}

// Overtake kills a member, and cuts the first heir off as soon as it goes on. Its checkpoints reach no other member, so what it computes is lost.
func (r *Run) Overtake() error {
	w, watch, lost, err := r.settle()
	if err != nil {
		return err
	}
	w.Begin(sim.Fault{Kind: sim.Crash, A: lost, B: protocol.Nobody})
	for resumed := r.Resumed; r.Resumed == resumed; {
		if err := w.Run(w.Now().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	w.Begin(sim.Fault{Kind: sim.Partition, Side: protocol.NewSet(watch.heir)})
	return w.Run(w.Now().Add(10 * time.Second))
}

// Recover kills the last member that works on keys, and measures its recovery.
func (r *Run) Recover() (Recovery, error) {
	w, watch, lost, err := r.settle()
	if err != nil {
		return Recovery{}, err
	}
	before := watch.founded[0]
	began, resumed := w.Now(), r.Resumed
	w.Begin(sim.Fault{Kind: sim.Crash, A: lost, B: protocol.Nobody})
	var out Recovery
	for out.Safe == 0 {
		if err := w.Run(w.Now().Add(time.Millisecond)); err != nil {
			return Recovery{}, err
		}
		took := w.Now().Sub(began)
		if took > 2*time.Minute {
			return Recovery{}, fmt.Errorf("seed %d: no recovery in 2 min", r.Seed)
		}
		agreed, safe := true, true
		for rank := range protocol.Rank(r.Members) {
			if rank == lost {
				continue
			}
			m := w.Machine(rank).(*member)
			agreed = agreed && m.machine != nil && !m.machine.View().Members.Has(int(lost))
			safe = safe && watch.founded[rank].Compare(before) > 0
		}
		if agreed && out.Agreed == 0 {
			out.Agreed = took
		}
		if r.Resumed > resumed && out.Resumed == 0 {
			out.Resumed = took
		}
		if agreed && safe {
			out.Safe = took
		}
	}
	return out, nil
}

// safe reports whether all members are in one view, in which all keys are safe.
func (r *Run) safe(w *sim.World, watch *watch) bool {
	for rank := range protocol.Rank(r.Members) {
		m, ok := w.Machine(rank).(*member)
		if !ok || m.machine == nil || m.machine.View().Members.Len() != r.Members || watch.founded[rank] != m.machine.View().Number {
			return false
		}
	}
	return true
}
