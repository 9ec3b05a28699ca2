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

// fail runs members of which one loses its links one by one, in a random order and so far apart.
func fail(t *testing.T, variant string, members int, failing protocol.Rank, apart time.Duration, seed uint64) {
	t.Helper()
	p, err := suite.Lookup(variant)
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{Members: members, Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Messages: true,
		Link:    sim.Link{Delay: sim.Between(time.Millisecond, 5*time.Millisecond)},
		Stagger: sim.Between(0, 50*time.Millisecond)}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	at := sim.Real(2 * time.Second)
	checkers := append(p.Checkers(w), check.NewDepartures(w, suite.RainGroup, protocol.NewSet(failing), at))
	for _, c := range checkers {
		w.Observe(c)
	}
	for _, j := range rand.New(rand.NewPCG(seed, 7)).Perm(members) {
		if other := protocol.Rank(j); other != failing {
			w.Schedule(sim.Fault{At: at, Kind: sim.Cut, A: failing, B: other}, sim.Fault{At: at, Kind: sim.Cut, A: other, B: failing})
			at = at.Add(apart)
		}
	}
	if err = w.Run(at.Add(6 * time.Second)); err != nil {
		t.Error(err)
		return
	}
	for _, c := range checkers {
		if err := c.Finish(); err != nil {
			t.Error(err)
		}
	}
}

// TestAMemberThatLosesItsLinksOneByOneTakesOneOtherAtMostAlong is Theorem 3.1 of the paper with the broken links in between, which its proof
// passes over: faster than anybody has to leave because of them, and slower.
func TestAMemberThatLosesItsLinksOneByOneTakesOneOtherAtMostAlong(t *testing.T) {
	seed := uint64(0)
	for _, variant := range []string{"rain gated", "rain plain"} {
		for _, members := range []int{3, 4, 5, 6} {
			for failing := range protocol.Rank(members) {
				for _, apart := range []time.Duration{300 * time.Millisecond, 1300 * time.Millisecond, 4 * time.Second} {
					seed++
					t.Run(fmt.Sprintf("%s/%d/%v/%v", variant, members, failing, apart), func(t *testing.T) {
						fail(t, variant, members, failing, apart, seed)
					})
				}
			}
		}
	}
}
