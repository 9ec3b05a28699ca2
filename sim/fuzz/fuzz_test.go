package fuzz_test

import (
	"context"
	"testing"

	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/race"
	"github.com/regentproject/regent/sim/suite"
)

// slice is how many seeds of each protocol every test run plays. A few are enough to see the workers race.
func slice() uint64 {
	if race.Enabled {
		return 2
	}
	return 100
}

func TestEveryProtocolSurvivesASliceOfSeeds(t *testing.T) {
	for _, p := range suite.All() {
		t.Run(p.Name, func(t *testing.T) {
			r, err := fuzz.Range(context.Background(), p, fuzz.Options{
				Members: p.Members, First: 1, Last: slice(), For: fuzz.DefaultFor,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Error(); err != nil {
				t.Error(err)
			}
			for _, row := range r.Coverage {
				t.Logf("%6d of %d  %s", row.Seeds, r.Seeds, row.Name)
			}
			t.Logf("%+v", r.Stats)
		})
	}
}
