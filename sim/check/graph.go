package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Graph is H-GRAPH: where who is connected to whom does not change, and need not be transitive, the leaders are those that
// the graph says. It takes the place of the paper's Fig. 24, which describes something else (E-H5).
type Graph struct {
	scene *scene
	near  []protocol.Set
	from  sim.Real
	firm  protocol.Set
	maybe protocol.Set
}

// NewGraph returns the checker for a world in which member r is connected to near[r], itself included, and to nobody else.
// It judges from an instant on.
func NewGraph(t Truth, spec HallSpec, near []protocol.Set, from sim.Real) *Graph {
	g := &Graph{scene: newScene(t, spec), near: near, from: from}
	firm, maybe := LeadersOf(near)
	for r := range firm.All() {
		if near[r].Len() < spec.Supporters {
			firm.Remove(r)
		}
	}
	for r := range maybe.All() {
		if near[r].Len() < spec.Supporters {
			maybe.Remove(r)
		}
	}
	g.firm, g.maybe = firm, maybe
	return g
}

// LeadersOf returns who leads in a graph: firm always do; maybe do now and then, between two requests of a member that is
// told off each time.
//
// A candidate is the best of those that it is connected to: it asks for support all the time. A member that hears a
// better candidate is silent. The rest ask for support now and then: they hear nobody better for a while, because who is
// better than they are is silent, until its answer tells them. A candidate leads if none of those that it needs ever hears
// anybody better.
func LeadersOf(near []protocol.Set) (firm, maybe protocol.Set) {
	var candidates, silent protocol.Set
	for l := range near {
		if near[l].Min() == protocol.Rank(l) {
			candidates.Add(protocol.Rank(l))
		}
	}
	for r := range protocol.Rank(len(near)) {
		heard := near[r].Intersect(candidates)
		if u := heard.Min(); !candidates.Has(r) && u < r {
			silent.Add(r)
		}
	}
	for l := range candidates.All() {
		var better protocol.Set
		for q := range near[l].All() {
			for r := range near[q].All() {
				if r < l {
					better.Add(r)
				}
			}
		}
		blocked := better.Intersect(candidates)
		loud := better.Minus(silent)
		switch {
		case !blocked.Empty():
		case loud.Empty():
			firm.Add(l)
		default:
			maybe.Add(l)
		}
	}
	return firm, maybe
}

// Name returns H-GRAPH.
func (g *Graph) Name() string { return "H-GRAPH" }

// Observe compares the leaders with the graph.
func (g *Graph) Observe(r *sim.Record) error {
	g.scene.follow(r)
	if r.T < g.from || !g.scene.fresh && r.Ev != protocol.EvLease && r.Ev != protocol.EvStepdown {
		return nil
	}
	return g.judge(r.T)
}

func (g *Graph) judge(t sim.Real) error {
	for p := range protocol.Rank(g.scene.n) {
		switch leads := g.scene.leading(p, t) != nil; {
		case leads && !g.firm.Has(p) && !g.maybe.Has(p):
			return Violatedf(g.Name(), t, "%v leads; by the graph %v only %v must and %v may", p, g.near, g.firm, g.maybe)
		case !leads && g.firm.Has(p):
			return Violatedf(g.Name(), t, "%v does not lead; by the graph %v all of %v do", p, g.near, g.firm)
		}
	}
	return nil
}

// Finish looks at the end.
func (g *Graph) Finish() error { return g.judge(g.scene.truth.Now()) }
