package suite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/effort"
)

// lengthsInUse counts the lengths of the leases that members hold, by what they state.
type lengthsInUse struct {
	held map[protocol.Rank]map[protocol.Group]time.Duration
	// most is the largest number of lengths that one member had at once, and seen has all.
	most int
	seen map[time.Duration]bool
}

// Observe implements sim.Observer.
func (u *lengthsInUse) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvLease:
		if u.held[r.Node] == nil {
			u.held[r.Node] = make(map[protocol.Group]time.Duration)
		}
		u.held[r.Node][r.Group], u.seen[r.Length] = r.Length, true
		at := make(map[time.Duration]bool)
		for _, l := range u.held[r.Node] {
			at[l] = true
		}
		u.most = max(u.most, len(at))
		if len(at) > lease.MaxLengths {
			return fmt.Errorf("member %d has leases of %d lengths at once", r.Node, len(at))
		}
	case protocol.EvStepdown:
		delete(u.held[r.Node], r.Group)
	case sim.EvCrash:
		delete(u.held, r.Node)
	}
	return nil
}

// Programs want leases of twelve lengths, which is more than a member may have, while members crash, are cut off and give groups up. All
// invariants hold, all lengths are had, and no member ever has more at once than it may.
func TestMoreLengthsThanAMemberMayHave(t *testing.T) {
	const groups, longest = 24, 4 * time.Second
	p, err := lookup(t, "nerio").With("longest=" + longest.String())
	if err != nil {
		t.Fatal(err)
	}
	lengths := []time.Duration{0}
	for i := range time.Duration(11) {
		lengths = append(lengths, (250+150*i)*time.Millisecond)
	}
	use := &lengthsInUse{seen: make(map[time.Duration]bool)}
	for seed := range effort.Pick[uint64](1, 4, 100) {
		use.held = make(map[protocol.Rank]map[protocol.Group]time.Duration)
		dice := sim.NewDice(seed, 0x1e49)
		w, _ := council(t, p, func(c *sim.Config) {
			c.Seed, c.Groups, c.Program.Lengths = seed, nil, lengths
			c.Program.Act = sim.Between(20*time.Millisecond, 60*time.Millisecond)
			for i := range groups {
				c.Groups = append(c.Groups, protocol.Group(fmt.Sprint("g", i)))
			}
		})
		all := check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(3), Longest: 2 * longest, Seed: seed, Travel: sim.Between(0, 50*time.Millisecond)})
		for _, c := range all {
			w.Observe(c)
		}
		w.Observe(use)
		for until := sim.Real(0); until < sim.Real(30*time.Second); {
			until = until.Add(dice.Between(200*time.Millisecond, 2*time.Second))
			if err := w.Run(until); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			who := protocol.Rank(dice.N(3))
			switch dice.N(3) {
			case 0:
				w.Begin(sim.Fault{Kind: sim.Crash, A: who, B: protocol.Nobody, For: dice.Between(10*time.Millisecond, time.Second)})
			case 1:
				w.Begin(sim.Fault{Kind: sim.Cut, A: who, B: (who + 1) % 3, For: dice.Between(10*time.Millisecond, 3*time.Second)})
			case 2:
				for i := range groups {
					if dice.N(3) == 0 {
						w.Begin(sim.Fault{Kind: sim.Resign, A: who, B: protocol.Nobody, Group: protocol.Group(fmt.Sprint("g", i))})
					}
				}
			}
		}
		var failed []error
		for _, c := range all {
			if f, ok := c.(interface{ Finish() error }); ok {
				failed = append(failed, f.Finish())
			}
		}
		if err := errors.Join(failed...); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if len(use.seen) != len(lengths) || use.most != lease.MaxLengths {
		t.Errorf("%d of %d lengths were had, %d at once", len(use.seen), len(lengths), use.most)
	}
}
