package suite_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// loss is a run in which members lose all their links, one by one, in a random order and so far apart.
type loss struct {
	variant string
	members int
	failing protocol.Set
	apart   time.Duration
	seed    uint64
	options []string
}

// run holds the run to every invariant and to Theorem 3.1.
func (l *loss) run(t *testing.T) {
	t.Helper()
	p, err := suite.Lookup(l.variant)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.With(l.options...); err != nil {
		t.Fatal(err)
	}
	c := sim.Config{Members: l.members, Seed: l.seed, Spawn: p.Spawn, Groups: p.Groups, Messages: true,
		Link:    sim.Link{Delay: sim.Between(time.Millisecond, 5*time.Millisecond)},
		Stagger: sim.Between(0, 50*time.Millisecond)}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	at := sim.Real(2 * time.Second)
	checkers := append(p.Checkers(w), check.NewDepartures(w, suite.RainGroup, l.failing, at))
	for _, c := range checkers {
		w.Observe(c)
	}
	for _, cut := range l.cuts() {
		w.Schedule(sim.Fault{At: at, Kind: sim.Cut, A: cut[0], B: cut[1]}, sim.Fault{At: at, Kind: sim.Cut, A: cut[1], B: cut[0]})
		at = at.Add(l.apart)
	}
	if err = w.Run(at.Add(10 * time.Second)); err != nil {
		t.Error(err)
		return
	}
	for _, c := range checkers {
		if err := c.Finish(); err != nil {
			t.Error(err)
		}
	}
}

// cuts returns the links that break, in their order.
func (l *loss) cuts() [][2]protocol.Rank {
	var all [][2]protocol.Rank
	for a := range l.failing.All() {
		for b := range protocol.Rank(l.members) {
			if a != b && (a < b || !l.failing.Has(b)) {
				all = append(all, [2]protocol.Rank{a, b})
			}
		}
	}
	rand.New(rand.NewPCG(l.seed, 7)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// The spacing of breaks: faster than a member has to leave because of one, as fast, and slower.
var spacings = []time.Duration{300 * time.Millisecond, 1300 * time.Millisecond, 4 * time.Second}

// TestAMemberThatLosesItsLinksOneByOneTakesOneOtherAtMostAlong is Theorem 3.1 of the paper with the broken links in between, which its proof
// passes over.
func TestAMemberThatLosesItsLinksOneByOneTakesOneOtherAtMostAlong(t *testing.T) {
	seed := uint64(0)
	for _, variant := range []string{"rain gated", "rain plain"} {
		for _, members := range []int{3, 4, 5, 6} {
			for failing := range protocol.Rank(members) {
				for _, apart := range spacings {
					seed++
					l := loss{variant, members, protocol.NewSet(failing), apart, seed, nil}
					t.Run(fmt.Sprintf("%s/%d/%v/%v", variant, members, failing, apart), l.run)
				}
			}
		}
	}
}

// some draws which members fail.
func some(k, members int, seed uint64) protocol.Set {
	var s protocol.Set
	for _, r := range rand.New(rand.NewPCG(seed, 3)).Perm(members)[:k] {
		s.Add(protocol.Rank(r))
	}
	return s
}

// TestMembersThatLoseTheirLinksOneByOne is Theorem 3.1 for more than one member that fails, but fewer than half of them.
func TestMembersThatLoseTheirLinksOneByOne(t *testing.T) {
	seed := uint64(1000)
	for _, variant := range []string{"rain gated", "rain plain"} {
		for _, members := range []int{5, 6, 7} {
			for k := 2; k <= (members-1)/2; k++ {
				for _, apart := range spacings {
					for range 2 {
						seed++
						l := loss{variant, members, some(k, members, seed), apart, seed, nil}
						t.Run(fmt.Sprintf("%s/%d/%v/%v", variant, members, l.failing, apart), l.run)
					}
				}
			}
		}
	}
}

// TestAllButTwoMayLoseTheirLinks is Theorem 3.1 as the paper has it: no member has to leave because of a broken link.
func TestAllButTwoMayLoseTheirLinks(t *testing.T) {
	seed := uint64(2000)
	for _, members := range []int{3, 4, 5, 6, 7} {
		for k := 1; k <= members-2; k++ {
			for _, apart := range spacings {
				seed++
				l := loss{"rain plain", members, some(k, members, seed), apart, seed, []string{"evict=0s"}}
				t.Run(fmt.Sprintf("%d/%v/%v", members, l.failing, apart), l.run)
			}
		}
	}
}
