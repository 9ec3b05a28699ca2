package fuzz_test

import (
	"context"
	"testing"

	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// slice is how many seeds of a protocol a test run plays. Two are enough to see the workers race. Quorum leases are what all else
// rests on, and several of their invariants are violated by few seeds.
func slice(protocol string) uint64 {
	if protocol == "nerio" {
		return effort.Pick[uint64](2, 60, 100)
	}
	return effort.Pick[uint64](2, 20, 100)
}

func TestEveryProtocolSurvivesASliceOfSeeds(t *testing.T) {
	for _, p := range suite.All() {
		t.Run(p.Name, func(t *testing.T) {
			r, err := fuzz.Range(context.Background(), p, fuzz.Options{
				Members: p.Members, First: 1, Last: slice(p.Name), For: fuzz.LengthOf(p),
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

// The runtime ends the renewals of a program that does not stop; the machines that it drives have no bound of their own.
func TestDriversEndRenewals(t *testing.T) {
	for _, p := range suite.All() {
		if p.Name != "nerio" && p.Name != "hall plain" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			r, err := fuzz.Range(context.Background(), suite.Driven(p), fuzz.Options{
				Members: 3, First: 1, Last: effort.Pick[uint64](2, 10, 100), For: fuzz.DefaultFor,
			})
			if err == nil {
				err = r.Error()
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range r.Coverage {
				if row.Name == suite.DriverLapsed && row.Seeds == 0 && !effort.Raced() {
					t.Errorf("%s: in none of %d seeds", row.Name, r.Seeds)
				}
			}
		})
	}
}
