package suite_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/suite"
)

var allSix = flag.Bool("graphs.all", false, "look at all 26704 connected labelled graphs of six members and at 3000 larger ones, not at a sample")

// playGraph plays a graph and reports what is wrong.
func playGraph(t testing.TB, g suite.Graph, variant string, seed uint64, length time.Duration) protocol.Set {
	t.Helper()
	led, err := g.Play(variant, seed, length)
	if err != nil {
		t.Error(err)
	}
	return led
}

func TestLeadersOfEveryGraphOfUpToFiveMembersAreThoseOfTheOracle(t *testing.T) {
	counts := map[int]int{}
	for n := 1; n <= 5; n++ {
		suite.AllGraphs(n, func(g suite.Graph) {
			counts[n]++
			playGraph(t, g, "hall plain", uint64(counts[n]), 3*time.Second)
		})
	}
	if counts[3] != 4 || counts[4] != 38 || counts[5] != 728 {
		t.Errorf("%v connected labelled graphs, want 4 of three members, 38 of four, 728 of five", counts)
	}
}

// every returns which graphs of six members a test looks at: all of them if the flag is set, otherwise each of so many.
func every(n int) int {
	if *allSix {
		return 1
	}
	return n
}

// sampleSix calls f with one of step connected labelled graphs of six members, and with a seed for it.
func sampleSix(step int, f func(g suite.Graph, seed uint64)) {
	seed := uint64(0)
	suite.AllGraphs(6, func(g suite.Graph) {
		seed++
		if seed%uint64(step) == 0 {
			f(g, seed)
		}
	})
}

// TestLeadersOfGraphsOfSixMembersAreThoseOfTheOracle compares every variant whose ranks stay as they are, within its κ.
func TestLeadersOfGraphsOfSixMembersAreThoseOfTheOracle(t *testing.T) {
	for variant, step := range map[string]int{"hall tree": 12, "hall plain": 48, "hall majority": 48, "hall calm": 48} {
		t.Run(variant, func(t *testing.T) {
			sampleSix(every(step), func(g suite.Graph, seed uint64) { playGraph(t, g, variant, seed, 3*time.Second) })
		})
	}
}

// randomGraphs returns how many random graphs a test looks at.
func randomGraphs() uint64 {
	if *allSix {
		return 3000
	}
	return 120
}

func TestLeadersOfRandomGraphsAreThoseOfTheOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for seed := range randomGraphs() {
		n := 6 + r.IntN(7)
		density := 1 + r.IntN(5)
		var edges [][2]int
		for a := range n {
			for b := a + 1; b < n; b++ {
				if r.IntN(6) < density {
					edges = append(edges, [2]int{a, b})
				}
			}
		}
		playGraph(t, suite.NewGraph(n, edges...), []string{"hall plain", "hall majority", "hall tree"}[seed%3], seed, 3*time.Second)
	}
}

// TestLeadersOfRandomGraphsOfEightMembersAreThoseOfTheOracle looks at a thousand graphs in a long run.
func TestLeadersOfRandomGraphsOfEightMembersAreThoseOfTheOracle(t *testing.T) {
	const n = 8
	r := rand.New(rand.NewPCG(8, 8))
	variants := []string{"hall plain", "hall majority", "hall tree", "hall calm"}
	judged := 0
	for seed := range effort.Pick[uint64](2, 25, 1000) {
		density := 1 + r.IntN(5)
		var edges [][2]int
		for a := range n {
			for b := a + 1; b < n; b++ {
				if r.IntN(6) < density {
					edges = append(edges, [2]int{a, b})
				}
			}
		}
		g := suite.NewGraph(n, edges...)
		for _, variant := range variants {
			playGraph(t, g, variant, seed, 3*time.Second)
		}
		judged += playTurns(t, g, seed)
	}
	if judged == 0 {
		t.Error("no turn could be judged")
	}
}

// TestNeitherReadingOfFig24DescribesTheProtocol counts on how many graphs each differs from the oracle, and shows for the
// smallest of them that the protocol is with the oracle (E-H5).
func TestNeitherReadingOfFig24DescribesTheProtocol(t *testing.T) {
	wrong := map[bool]int{}
	suite.AllGraphs(5, func(g suite.Graph) {
		firm, maybe := check.LeadersOf(g)
		may := firm.Union(maybe)
		for _, reading := range []bool{true, false} {
			if says := g.Fig24(reading); !says.Contains(firm) || !may.Contains(says) {
				wrong[reading]++
			}
		}
	})
	if wrong[true] != 94 || wrong[false] != 28 {
		t.Errorf("marking by the elected is wrong on %d graphs, by all on %d; want 94 and 28", wrong[true], wrong[false])
	}
	for _, c := range []struct {
		path    [3][2]int
		reading bool
		says    protocol.Set
		is      protocol.Set
	}{
		// a-c-b-d: b asks all the time, because it hears only c and d, and c, locked to a, never answers with support. So d hears
		// b, and does not lead itself.
		{[3][2]int{{0, 2}, {2, 1}, {1, 3}}, true, protocol.NewSet(0, 3), protocol.NewSet(0)},
		// a-b-d-c: b follows a and is silent, so d does not know of it, and is free to support c.
		{[3][2]int{{0, 1}, {1, 3}, {3, 2}}, false, protocol.NewSet(0), protocol.NewSet(0, 2)},
	} {
		g := suite.NewGraph(4, c.path[:]...)
		if got := g.Fig24(c.reading); got != c.says {
			t.Errorf("path %v: the figure says %v, want %v", c.path, got, c.says)
		}
		if got := playGraph(t, g, "hall plain", 1, 5*time.Second); got != c.is {
			t.Errorf("path %v: %v lead, want %v", c.path, got, c.is)
		}
	}
}
