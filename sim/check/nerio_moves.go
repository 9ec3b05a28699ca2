package check

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/sim"
)

// Moves is the part of N-STAB that is about balanced councils: a leader that is well is asked to stop in favour of another only if that
// one may lead, is up and fit, has a program that waits, and has joined or was undrained; and only a few groups of one leader
// are on their way at once.
//
// A leader may be late to know of another member. So what is wrong with the successor counts only if it has been so for the lag. For one
// arrival a group may be moved to a member again only if the move before came to nothing.
type Moves struct {
	leaders protocol.Set
	limit   int
	lag     time.Duration
	members map[protocol.Rank]*mover
	groups  map[protocol.Group]*moved
	// configs are those of a council that changes: its members have their places by the one that the leader is in.
	configs
	// wrong is what a move is by the configuration of its leader, which may have adopted another one in the same Step: facts come after
	// views.
	wrong *wrongMove
}

// A wrongMove is a violation, unless its leader has adopted another configuration at that instant by which the move is right.
type wrongMove struct {
	at       sim.Real
	from, to protocol.Rank
	group    protocol.Group
	err      error
}

// A mover is what is true of a member, with since when it has been wrong; Forever: it is well.
type mover struct {
	down, unfit sim.Real
	// drained says that it was drained since it was last fit.
	drained bool
	// arrivals counts its starts and undrains, and how often it came to be one that may lead.
	arrivals int
	// number is of its configuration, and leads says that it may lead there.
	number uint64
	leads  bool
	// idle is since when a group has had no program here; absent: there never was one.
	idle map[protocol.Group]sim.Real
}

// moved is what became of the moves of a group.
type moved struct {
	// from moves it now, in its tenure; Nobody if none does. ended is when that tenure did; Forever: it lasts.
	from   protocol.Rank
	tenure uint64
	ended  sim.Real
	// taken has for each member the arrival by which it was moved there and has led since.
	to    protocol.Rank
	taken map[protocol.Rank]int
}

// NewMoves returns the checker. No move takes longer than the lag once its leader has stepped down.
func NewMoves(leaders protocol.Set, limit int, lag time.Duration) *Moves {
	return &Moves{leaders: leaders, limit: limit, lag: lag, members: make(map[protocol.Rank]*mover), groups: make(map[protocol.Group]*moved), configs: make(configs)}
}

// Name returns N-STAB (moves).
func (c *Moves) Name() string { return "N-STAB (moves)" }

func (c *Moves) member(r protocol.Rank) *mover {
	m := c.members[r]
	if m == nil {
		m = &mover{down: 0, unfit: sim.Forever, idle: make(map[protocol.Group]sim.Real)}
		c.members[r] = m
	}
	return m
}

func (c *Moves) group(g protocol.Group) *moved {
	m := c.groups[g]
	if m == nil {
		m = &moved{from: protocol.Nobody, to: protocol.Nobody, taken: make(map[protocol.Rank]int)}
		c.groups[g] = m
	}
	return m
}

// Observe follows the members, and looks at every leader that is asked to stop.
func (c *Moves) Observe(r *sim.Record) error {
	m := c.member(r.Node)
	c.configs.take(r)
	if w := c.wrong; w != nil && r.T > w.at {
		return w.err
	}
	switch r.Ev {
	case protocol.EvAdopt:
		c.adopt(m, r)
		if w := c.wrong; w != nil && w.from == r.Node && c.misplaced(w.group, w.to, w.from) == "" {
			c.wrong = nil
		}
	case protocol.EvOut:
		m.leads = false
	case sim.EvStart, sim.EvRestart:
		*m = mover{down: sim.Forever, unfit: sim.Forever, arrivals: m.arrivals + 1, drained: false, idle: m.ended(r.T), number: m.number, leads: m.leads}
	case sim.EvCrash, sim.EvClose:
		m.down = r.T
		c.forget(r.Node)
	case protocol.EvWait:
		if r.Why == "restored snapshot" {
			m.arrivals++ // it may have forgotten that it had joined
			c.forget(r.Node)
		}
	case protocol.EvHealth:
		m.health(r)
	case sim.EvCommand:
		switch r.Why {
		case "campaign":
			m.idle[r.Group] = sim.Forever
		case "resign":
			m.idle[r.Group] = r.T
		}
	case protocol.EvLease:
		c.lease(r)
	case protocol.EvStepdown:
		if g := c.group(r.Group); g.from == r.Node && g.tenure == r.Tenure {
			g.ended = r.T
		}
	case sim.EvView:
		return c.view(r)
	}
	return nil
}

// adopt notes in which configuration a member is. One that comes to be a leader there arrives.
func (c *Moves) adopt(m *mover, r *sim.Record) {
	conf := c.configs[r.Seq]
	if conf == nil {
		return
	}
	x := conf.At(r.Node)
	leads := x != nil && x.Role == council.Leader
	if leads && !m.leads && (m.number > 0 || x.Since > 0) {
		m.arrivals++
	}
	m.number, m.leads = r.Seq, leads
}

// misplaced says why a group is not moved to a member by the configuration of its leader.
func (c *Moves) misplaced(g protocol.Group, to, from protocol.Rank) string {
	conf := c.configs[c.member(from).number]
	if conf == nil {
		return ""
	}
	leaders, order := conf.Leaders(), make(balance.Order, conf.Seats())
	for i := range conf.Members {
		m := &conf.Members[i]
		order[m.Seat] = balance.Share{Seed: balance.Seed(m.Name), Weight: m.Weight, Class: m.Priority}
	}
	switch {
	case !leaders.Has(to):
		return fmt.Sprintf("may not lead it in configuration %d", conf.Number)
	case order.First(g, protocol.NewSet(to, from)) != to:
		return fmt.Sprintf("does not go before it in configuration %d", conf.Number)
	}
	return ""
}

// ended returns since when groups have had no program at a member that starts again now: its programs ended with it, and a
// leader may be late to know that, however soon the member is back.
func (m *mover) ended(now sim.Real) map[protocol.Group]sim.Real {
	idle := make(map[protocol.Group]sim.Real)
	for g, since := range m.idle {
		idle[g] = min(since, m.down, now)
	}
	return idle
}

func (m *mover) health(r *sim.Record) {
	switch {
	case r.Why == "well":
		m.unfit = sim.Forever
		if m.drained {
			m.arrivals++
		}
		m.drained = false
	case m.unfit == sim.Forever:
		m.unfit = r.T
	}
	m.drained = m.drained || r.Why == "drained"
}

// forget ends all moves of a member that has died.
func (c *Moves) forget(who protocol.Rank) {
	for _, g := range c.groups {
		if g.from == who {
			g.from = protocol.Nobody
		}
	}
}

// lease notes that a group is led, which ends its move.
func (c *Moves) lease(r *sim.Record) {
	if r.Dom != protocol.Quorum {
		return
	}
	g := c.group(r.Group)
	if g.from == r.Node && g.tenure == r.Tenure {
		return
	}
	g.from = protocol.Nobody
	if g.to == r.Node {
		g.taken[r.Node], g.to = c.member(r.Node).arrivals, protocol.Nobody
	}
}

// view judges a leader that is asked to stop because the council is balanced.
func (c *Moves) view(r *sim.Record) error {
	v := r.Detail.(*protocol.View)
	g := c.group(v.Group)
	if v.Domain == protocol.Quorum && v.Leader.Rank == r.Node && !v.Stop && g.from == r.Node && g.tenure != v.Tenure {
		g.from = protocol.Nobody // it leads the group again: facts come after views
	}
	if v.Domain != protocol.Quorum || !v.Stop || v.Cause.Code != protocol.Balanced || g.from == r.Node && g.tenure == v.Tenure {
		return nil
	}
	to := v.Cause.Peer
	t := c.member(to)
	idle, campaigned := t.idle[v.Group]
	why := ""
	switch {
	case to == r.Node || !c.leaders.Empty() && !c.leaders.Has(to):
		why = "may not lead it"
	case t.down.Add(c.lag) < r.T:
		why = "is down"
	case t.unfit.Add(c.lag) < r.T:
		why = "is ill or drained"
	case !campaigned && t.down == sim.Forever, campaigned && idle.Add(c.lag) < r.T:
		why = "has no program that waits"
	case t.arrivals == g.taken[to]:
		why = "has not joined since it led it"
	}
	if why != "" {
		return Violatedf(c.Name(), r.T, "%v moves %q to %v, which %s", r.Node, v.Group, to, why)
	}
	if why := c.misplaced(v.Group, to, r.Node); why != "" {
		c.wrong = &wrongMove{r.T, r.Node, to, v.Group, Violatedf(c.Name(), r.T, "%v moves %q to %v, which %s", r.Node, v.Group, to, why)}
	}
	g.from, g.tenure, g.ended, g.to = r.Node, v.Tenure, sim.Forever, to
	n := 0
	for _, x := range c.groups {
		if x.from == r.Node && r.T < x.ended.Add(c.lag/10) {
			n++
		}
	}
	if n > c.limit {
		return Violatedf(c.Name(), r.T, "%v moves %d groups at once, of which %q is one; at most %d", r.Node, n, v.Group, c.limit)
	}
	return nil
}

// Finish returns what the last move was.
func (c *Moves) Finish() error {
	if c.wrong != nil {
		return c.wrong.err
	}
	return nil
}
