package suite

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// A Graph is which members are connected, for runs in which that does not change: element r has r and its neighbours.
type Graph []protocol.Set

// NewGraph returns the graph of n members with these edges.
func NewGraph(n int, edges ...[2]int) Graph {
	g := make(Graph, n)
	for r := range g {
		g[r].Add(protocol.Rank(r))
	}
	for _, e := range edges {
		g[e[0]].Add(protocol.Rank(e[1]))
		g[e[1]].Add(protocol.Rank(e[0]))
	}
	return g
}

// Connected reports whether there is a path between any two members.
func (g Graph) Connected() bool {
	seen := protocol.NewSet(0)
	for range g {
		for r := range seen.All() {
			seen = seen.Union(g[r])
		}
	}
	return seen == protocol.Everyone(len(g))
}

// AllGraphs calls f with every connected labelled graph of n members.
func AllGraphs(n int, f func(Graph)) {
	var pairs [][2]int
	for a := range n {
		for b := a + 1; b < n; b++ {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	for bits := range 1 << len(pairs) {
		var edges [][2]int
		for i, p := range pairs {
			if bits>>i&1 == 1 {
				edges = append(edges, p)
			}
		}
		if g := NewGraph(n, edges...); g.Connected() {
			f(g)
		}
	}
}

// Play runs members of a variant of hall over the links of the graph, for so long, and compares who leads with what the graph
// says, from κ after all of them grant locks on. It returns who has led in that time. The error is a violation.
func (g Graph) Play(variant string, seed uint64, length time.Duration) (protocol.Set, error) {
	p, err := Lookup(variant)
	if err != nil {
		return protocol.Set{}, err
	}
	w, err := sim.New(g.World(p, seed))
	if err != nil {
		return protocol.Set{}, err
	}
	led := &ledSince{from: Settled(HallConfig(p.Name, sim.Boot{Members: len(g)}))}
	graph := check.NewGraph(w, HallSpec(p.Name, len(g)), g, led.from)
	w.Observe(graph, led)
	for _, c := range p.Checkers(w) {
		if c.Name() != "H-T" && c.Name() != "H-BI" && c.Name() != "H-MIN" {
			w.Observe(c)
		}
	}
	err = w.Run(sim.Real(length))
	if err == nil {
		err = graph.Finish()
	}
	if err != nil {
		return led.who, fmt.Errorf("%s, seed %d, %v: %w", variant, seed, g, err)
	}
	return led.who, nil
}

const graphStagger = 50 * time.Millisecond

// World is a world of members over the links of the graph.
func (g Graph) World(p *Protocol, seed uint64) sim.Config {
	quick := sim.Link{Delay: sim.Between(200*time.Microsecond, 2*time.Millisecond)}
	return sim.Config{Members: len(g), Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Link: quick,
		Timer: sim.Between(0, 10*time.Millisecond), Stagger: sim.Between(0, graphStagger),
		Program: sim.ProgramSpec{Again: sim.Between(1, 20*time.Millisecond)},
		Links: func(a, b protocol.Rank) sim.Link {
			if g[a].Has(b) {
				return quick
			}
			return sim.Link{Delay: quick.Delay, Loss: sim.Certain}
		}}
}

// Settled returns κ after the last member of a graph has started and waited for the time of a lock. No member falls silent in a
// graph, so there is nothing that calm members wait for.
func Settled(c hall.Config) sim.Real {
	c.Calm = 0
	return sim.Real(graphStagger + c.Rho.RealAtMost(c.Lock) + c.Kappa())
}

// ledSince notes who has led.
type ledSince struct {
	from sim.Real
	who  protocol.Set
}

func (l *ledSince) Observe(r *sim.Record) error {
	if r.Ev == protocol.EvLease && r.T >= l.from {
		l.who.Add(r.Node)
	}
	return nil
}

// Fig24 is HALL's algorithm for who leads in a graph, in the two ways in which its text can be read: members become marked by
// every member that is looked at, or only by those that are elected. Neither describes the protocol; check.LeadersOf does.
func (g Graph) Fig24(onlyIfElected bool) protocol.Set {
	var marked, leaders protocol.Set
	for l := range g {
		near := g[l].Intersect(marked)
		elected := near.Empty()
		if elected {
			leaders.Add(protocol.Rank(l))
		}
		if elected || !onlyIfElected {
			marked = marked.Union(g[l])
		}
	}
	return leaders
}
