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

// Played is what a run on a graph has shown.
type Played struct {
	// Led are the members that have led since κ.
	Led protocol.Set
	// Turns is how many turns could be judged; one if members take none.
	Turns int
}

// Play runs members with a set of options over the links of the graph, and compares who leads with what the graph says: from κ
// after all of them grant locks on, and if they take turns from κ after all have agreed on a turn. The error is a violation.
func (g Graph) Play(o Options, seed uint64) (Played, error) {
	c := o.graphConfig(sim.Boot{Members: len(g)})
	// No member falls silent in a graph but in its turn, so there is nothing that calm members wait for.
	c.Calm = 0
	spec, from := hallSpecOf(c), sim.Real(graphStagger+c.Rho.RealAtMost(c.Lock)+c.Kappa())
	sc := g.world(o, seed)
	turns := turnWatch{at: make([]uint64, len(g))}
	var turn check.Turn
	var w *sim.World
	length := from.Add(graphLength)
	if o&Turns != 0 {
		turn = turns.turn
		length = from.Add(graphTurns * c.Kappa())
		sc.Intercept = func(l sim.Intercepted) bool {
			turns.sent(w.Now(), l.From.Rank, l.Message)
			return false
		}
	}
	w, err := sim.New(sc)
	if err != nil {
		return Played{}, err
	}
	graph := check.NewGraph(w, spec, g, from, turn)
	led := &ledSince{from: from}
	w.Observe(graph, led)
	for _, c := range check.Hall(w, spec) {
		if c.Name() != "H-T" && c.Name() != "H-BI" && c.Name() != "H-MIN" {
			w.Observe(c)
		}
	}
	err = w.Run(length)
	if err == nil {
		err = graph.Finish()
	}
	if err != nil {
		err = fmt.Errorf("%v, seed %d, %v: %w", o, seed, g, err)
	}
	return Played{led.who, graph.Judged()}, err
}

const (
	graphStagger = 50 * time.Millisecond
	// graphLength is how long a run is judged. With turns it is graphTurns times κ, in which most graphs have two turns.
	graphLength = 2 * time.Second
	graphTurns  = 5
)

// graphConfig returns the configuration of a member in a graph.
func (o Options) graphConfig(b sim.Boot) hall.Config {
	c := hallDefault(b)
	o.set(&c)
	if o&Turns != 0 {
		// A turn lasts for about twice κ.
		kappa := c
		kappa.Calm = 0
		c.Rotate = max(int(2*kappa.Kappa()/c.Renew), c.LeastRotate())
	}
	return c
}

// world is a world of members over the links of the graph.
func (g Graph) world(o Options, seed uint64) sim.Config {
	quick := sim.Link{Delay: sim.Between(200*time.Microsecond, 2*time.Millisecond)}
	return sim.Config{Members: len(g), Seed: seed, Groups: []protocol.Group{HallGroup}, Link: quick, Messages: true,
		Spawn: func(b sim.Boot) (protocol.Machine, error) { return hall.New(o.graphConfig(b)) },
		Timer: sim.Between(0, 10*time.Millisecond), Stagger: sim.Between(0, graphStagger),
		Program: sim.ProgramSpec{Again: sim.Between(1, 20*time.Millisecond)},
		Links: func(a, b protocol.Rank) sim.Link {
			if g[a].Has(b) {
				return quick
			}
			return sim.Link{Delay: quick.Delay, Loss: sim.Certain}
		}}
}

// turnWatch follows by how much each member has turned the ranks, as its messages show.
type turnWatch struct {
	at    []uint64
	since sim.Real // when the last of them changed
}

func (x *turnWatch) sent(now sim.Real, from protocol.Rank, msg protocol.Message) {
	turn := x.at[from]
	switch msg := msg.(type) {
	case *hall.Election:
		turn = msg.Rotation
	case *hall.Relay:
		if msg.Root.Rank == from {
			turn = msg.Election.Rotation
		}
	case *hall.Reply:
		turn = msg.Rotation
	case *hall.Release:
		turn = msg.Rotation
	}
	if turn != x.at[from] {
		x.at[from], x.since = turn, now
	}
}

// turn returns which member comes first, and since when all have agreed on that.
func (x *turnWatch) turn() (protocol.Rank, sim.Real) {
	for _, turn := range x.at {
		if turn != x.at[0] {
			return 0, sim.Forever
		}
	}
	return protocol.Rank(x.at[0] % uint64(len(x.at))), x.since
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
