package fuzz_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// Leaders are demoted for good reasons within kδ, so a checker that allows too little of that must find some: random runs
// do come near what S-kSTAB is about.
func TestRandomRunsViolateAStabilityThatIsNotPromised(t *testing.T) {
	for _, variant := range []string{"fig3", "fig5"} {
		p, err := suite.Lookup("stable " + variant)
		if err != nil {
			t.Fatal(err)
		}
		q := *p
		q.Checkers = func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewStays(t, check.Links{Within: 14 * time.Millisecond}, 35*time.Millisecond)}
		}
		r, err := fuzz.Range(context.Background(), &q, fuzz.Options{Members: 5, First: 1, Last: 200, For: fuzz.DefaultFor})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Error(); err == nil || !strings.Contains(err.Error(), "S-kSTAB") {
			t.Errorf("%s: got %v, want a violation of S-kSTAB", variant, err)
		}
	}
}
