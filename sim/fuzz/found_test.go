package fuzz_test

import (
	"testing"

	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// Seeds that failed once.
func TestSeedsThatFoundSomething(t *testing.T) {
	for _, c := range []struct {
		protocol string
		members  int
		seed     uint64
		found    string
	}{
		{"nerio", 3, 68, "a record that was found to be an old copy was believed by the next start"},
		{"nerio", 2, 489, "a port without an incarnation sent probes as the number of its start, and peers took it for a rival"},
		{"stack stable", 5, 15, "a council without disks began anew: the one member without the bootstrap flag was an observer"},
		{"council", 3, 9818, "what a program wanted before its member had a seat came after what it wanted later: it resigned, campaigned, and had resigned"},
	} {
		p, err := suite.Lookup(c.protocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, run, err := fuzz.Seed(p, c.members, c.seed, fuzz.DefaultFor); err != nil || run.Err != nil {
			t.Errorf("%s, %d members, seed %d (%s): %v, %v", c.protocol, c.members, c.seed, c.found, err, run.Err)
		}
	}
}
