package host

import (
	"flag"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/sim/effort"
)

var (
	seeds = flag.Uint64("host.seeds", 500, "how many seeds to play")
	from  = flag.Uint64("host.from", 0, "the first seed")
)

func TestTenuresSurviveOnSimulatedHosts(t *testing.T) {
	n := *seeds
	if effort.Raced() {
		n = min(n, 20)
	}
	cover := new(Coverage)
	failures := map[string]int{}
	for seed := *from; seed < *from+n; seed++ {
		failure, _ := Play(Draw(seed), cover, false)
		if failure == "" {
			continue
		}
		name, _, _ := strings.Cut(failure, ":")
		if failures[name]++; failures[name] > 1 {
			continue
		}
		p := Shrink(Draw(seed))
		_, trace := Play(p, new(Coverage), true)
		if len(trace) > 60 {
			trace = trace[len(trace)-60:]
		}
		t.Errorf("seed %d: %s\nfaults: %v\n%s", seed, failure, p.Faults, strings.Join(trace, "\n"))
		if len(failures) > 2 {
			break
		}
	}
	if t.Failed() || n < 500 {
		return
	}
	text, enough := cover.Judge()
	if t.Log(text); !enough {
		t.Error(text)
	}
}

// Programs have their turns in groups that hosts lead, and die, hang and are paused, as their agents are.
func TestSeatsSurviveOnSimulatedHosts(t *testing.T) {
	n := *seeds
	if effort.Raced() {
		n = min(n, 20)
	}
	turns, losses := 0, 0
	for seed := *from; seed < *from+n; seed++ {
		failure, _, began, lost := PlaySeats(seed, false)
		turns, losses = turns+began, losses+lost
		if failure == "" {
			continue
		}
		_, trace, _, _ := PlaySeats(seed, true)
		t.Fatalf("seed %d: %s\n%s", seed, failure, strings.Join(trace[max(0, len(trace)-60):], "\n"))
	}
	t.Logf("%d turns, in %d of which the host lost its leadership", turns, losses)
	if uint64(turns) < 5*n || uint64(losses) < n {
		t.Errorf("%d turns and %d losses in %d seeds", turns, losses, n)
	}
}

func TestCoverageFailsBelowItsBound(t *testing.T) {
	full := func() *Coverage {
		c := new(Coverage)
		for s := range tenure.State(tenure.States) {
			for k := range tenure.Kind(tenure.Kinds) {
				if exempt(s, k) == "" {
					c.step(s, k)
				}
			}
			for f := range faultKinds {
				c.fault(f, s)
			}
		}
		return c
	}
	if text, enough := full().Judge(); !enough {
		t.Errorf("all pairs were reached: %s", text)
	}
	few := full()
	for _, k := range []FaultKind{Starve, Suspend, KillChild, CutOff} {
		few.Faults[k] = [tenure.States]int{}
	}
	if text, enough := few.Judge(); enough || !strings.Contains(text, "Asked × fault: suspend") {
		t.Errorf("four faults never happened: %s", text)
	}
	wrong := full()
	wrong.step(tenure.Asked, tenure.Found)
	if text, enough := wrong.Judge(); enough || !strings.Contains(text, "listed as unreachable: Asked × Found") {
		t.Errorf("what cannot be reached was: %s", text)
	}
}
