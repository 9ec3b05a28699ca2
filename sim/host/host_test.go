package host

import (
	"flag"
	"fmt"
	"strings"
	"testing"

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
	missing, share := cover.Missing()
	text := fmt.Sprintf("%.1f %% of all pairs were reached; never: %s", 100*share, strings.Join(missing, ", "))
	if t.Log(text); share < 0.95 {
		t.Error(text)
	}
}
