package suite_test

import (
	"math/rand/v2"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/suite"
)

// playGraph plays a graph. A violation ends the test.
func playGraph(t testing.TB, g suite.Graph, o suite.Options, seed uint64) suite.Played {
	t.Helper()
	played, err := g.Play(o, seed)
	if err != nil {
		t.Fatal(err)
	}
	return played
}

func TestLeadersOfEveryGraphOfUpToFiveMembersAreThoseOfTheOracle(t *testing.T) {
	counts := map[int]int{}
	for n := 1; n <= 5; n++ {
		suite.AllGraphs(n, func(g suite.Graph) {
			counts[n]++
			playGraph(t, g, 0, uint64(counts[n]))
		})
	}
	if counts[3] != 4 || counts[4] != 38 || counts[5] != 728 {
		t.Errorf("%v connected labelled graphs, want 4 of three members, 38 of four, 728 of five", counts)
	}
}

// TestLeadersOfGraphsOfSixMembersAreThoseOfTheOracle compares members with every set of options, within their κ. A long run looks
// at all connected labelled graphs, otherwise each set of options has a sample of its own.
func TestLeadersOfGraphsOfSixMembersAreThoseOfTheOracle(t *testing.T) {
	const all = 26704
	for i, o := range suite.OptionSets() {
		t.Run(o.String(), func(t *testing.T) {
			step := effort.Pick(2000, 400, 1)
			graphs, played, turns := 0, 0, 0
			suite.AllGraphs(6, func(g suite.Graph) {
				graphs++
				if (graphs+i)%step == 0 {
					played++
					turns += playGraph(t, g, o, uint64(graphs)).Turns
				}
			})
			if graphs != all || played == 0 || turns < played {
				t.Errorf("%d turns on %d of %d graphs could be judged, want one on each and %d graphs", turns, played, graphs, all)
			}
			t.Logf("%d turns on %d graphs", turns, played)
		})
	}
}

// TestLeadersOfRandomGraphsOfEightMembersAreThoseOfTheOracle does the same for random graphs of eight members, a thousand in a long run. They need
// not be connected.
func TestLeadersOfRandomGraphsOfEightMembersAreThoseOfTheOracle(t *testing.T) {
	for i, o := range suite.OptionSets() {
		t.Run(o.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, 8))
			turns := 0
			const all = 1000
			step := effort.Pick(500, 100, 1)
			for seed := range all {
				g := randomGraph(r, 8)
				if (seed+i)%step == 0 {
					turns += playGraph(t, g, o, uint64(seed)).Turns
				}
			}
			if turns < all/step {
				t.Errorf("%d turns of %d graphs could be judged", turns, all/step)
			}
		})
	}
}

// randomGraph draws a graph, sparse or dense.
func randomGraph(r *rand.Rand, n int) suite.Graph {
	density := 1 + r.IntN(5)
	var edges [][2]int
	for a := range n {
		for b := a + 1; b < n; b++ {
			if r.IntN(6) < density {
				edges = append(edges, [2]int{a, b})
			}
		}
	}
	return suite.NewGraph(n, edges...)
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
		if got := playGraph(t, g, 0, 1).Led; got != c.is {
			t.Errorf("path %v: %v lead, want %v", c.path, got, c.is)
		}
	}
}
