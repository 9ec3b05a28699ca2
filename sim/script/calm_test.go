package script_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/script"
	"github.com/regentproject/regent/sim/suite"
)

// docs/simulator.md shows the lines between the marks; TestTheGuideShowsTheCheckerThatIsTested holds it to them.

// begin checker

// calm is CALM: no member changes its mind about the leader more than five times in a second.
type calm struct {
	changes map[protocol.Rank][]sim.Real
}

func (c *calm) Name() string { return "CALM" }

func (c *calm) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvWeak {
		return nil
	}
	last := append(c.changes[r.Node], r.T)
	if n := len(last); n > 5 && r.T.Sub(last[n-6]) < time.Second {
		return check.Violatedf(c.Name(), r.T, "%v changed its mind six times since %v", r.Node, last[n-6])
	}
	c.changes[r.Node] = last
	return nil
}

func (c *calm) Finish() error { return nil }

// end checker

// withCalm adds the checker to a protocol.
func withCalm(p *suite.Protocol) *suite.Protocol {
	checkers := p.Checkers
	p.Checkers = func(t check.Truth) []check.Checker {
		return append(checkers(t), &calm{changes: make(map[protocol.Rank][]sim.Real)})
	}
	return p
}

func TestACheckerOfOnesOwnCatchesWhatItShould(t *testing.T) {
	healthy, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	const day = "links delay 1ms..20ms\nrun 5s\ncrash a\nrun 5s"
	if r := play(t, day, script.Options{Protocol: withCalm(healthy)}); !r.OK() {
		t.Errorf("rank is not calm: %v", r.Err("x"))
	}
	if r := play(t, day, script.Options{Protocol: withCalm(forgetful(t))}); r.Violated() != "CALM" {
		t.Errorf("rank with a short time-out violates %q, want CALM", r.Violated())
	}
}
