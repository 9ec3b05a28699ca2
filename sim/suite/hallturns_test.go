package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// turned returns who must and who may lead in a graph whose ranks are turned: the member with the rank turn comes first.
func turned(g suite.Graph, turn int) (firm, maybe protocol.Set) {
	n := len(g)
	renamed := make(suite.Graph, n)
	for r := range g {
		for q := range g[r].All() {
			renamed[(r-turn+n)%n].Add(protocol.Rank((int(q) - turn + n) % n))
		}
	}
	back := func(s protocol.Set) protocol.Set {
		var out protocol.Set
		for r := range s.All() {
			out.Add(protocol.Rank((int(r) + turn) % n))
		}
		return out
	}
	firm, maybe = check.LeadersOf(renamed)
	return back(firm), back(maybe)
}

// turns follows by how much each member has turned the ranks, as its messages show, and until when each leads.
type turns struct {
	at    []uint64
	since sim.Real // when the last of them changed
	leads []protocol.Time
}

func (x *turns) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvLease:
		x.leads[r.Node] = r.Until
	case protocol.EvStepdown:
		x.leads[r.Node] = 0
	}
	return nil
}

func (x *turns) sent(now sim.Real, from protocol.Rank, msg protocol.Message) {
	turn := x.at[from]
	switch msg := msg.(type) {
	case *hall.Election:
		turn = msg.Rotation
	case *hall.Reply:
		turn = msg.Rotation
	case *hall.Release:
		turn = msg.Rotation
	}
	if turn != x.at[from] {
		x.at[from], x.since = turn, now
	}
}

// agreed returns by how much all have turned the ranks, and whether it is the same for all.
func (x *turns) agreed() (int, bool) {
	for _, turn := range x.at {
		if turn != x.at[0] {
			return 0, false
		}
	}
	return int(x.at[0] % uint64(len(x.at))), true
}

// playTurns runs members that take turns over the links of a graph. Whenever all have agreed on whose turn it is for κ, it
// compares who leads with what the graph says. It returns for how many turns it could.
func playTurns(t testing.TB, g suite.Graph, seed uint64) int {
	t.Helper()
	p, err := suite.Lookup("hall turns")
	if err != nil {
		t.Fatal(err)
	}
	config := func(b sim.Boot) hall.Config {
		c := suite.HallConfig(p.Name, b)
		c.Rotate = 50 // so that a turn lasts for several κ
		return c
	}
	kappa := config(sim.Boot{Members: len(g)})
	c := g.World(p, seed)
	c.Spawn = func(b sim.Boot) (protocol.Machine, error) { return hall.New(config(b)) }
	x := &turns{at: make([]uint64, len(g)), leads: make([]protocol.Time, len(g))}
	var w *sim.World
	c.Intercept = func(l sim.Intercepted) bool {
		x.sent(w.Now(), l.From.Rank, l.Message)
		return false
	}
	if w, err = sim.New(c); err != nil {
		t.Fatal(err)
	}
	w.Observe(x)
	judged := map[uint64]bool{}
	for now := suite.Settled(kappa); now < sim.Real(10*time.Second); now = now.Add(20 * time.Millisecond) {
		if err := w.Run(now); err != nil {
			t.Fatalf("%v, seed %d: %v", g, seed, err)
		}
		turn, ok := x.agreed()
		if !ok || now < x.since.Add(kappa.Kappa()) {
			continue
		}
		judged[x.at[0]] = true
		var leaders protocol.Set
		for r := range protocol.Rank(len(g)) {
			if w.Clock(r).At(now) < x.leads[r] {
				leaders.Add(r)
			}
		}
		firm, maybe := turned(g, turn)
		if may := firm.Union(maybe); !leaders.Contains(firm) || !may.Contains(leaders) {
			t.Errorf("%v, seed %d, at %v: %v lead; it is %d's turn since %v, and %v must, %v may", g, seed, now, leaders, turn, x.since, firm, maybe)
			return len(judged)
		}
	}
	return len(judged)
}

func TestLeadersThatTakeTurnsAreThoseOfTheOracle(t *testing.T) {
	graphs, judged := 0, 0
	sampleSix(every(96), func(g suite.Graph, seed uint64) {
		graphs++
		judged += playTurns(t, g, seed)
	})
	if judged < graphs {
		t.Errorf("%d turns of %d graphs could be judged: too few", judged, graphs)
	}
}
