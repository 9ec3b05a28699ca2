package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// Resource is N-TOK at the receiving end: what a resource behind a gate carries out never goes back to an earlier
// leadership, and never mixes two leaderships under one token. It holds even where clocks fail and N-LU does not.
//
// Each edict takes a time of its own to arrive, sometimes much longer than a lease, and some come twice.
type Resource struct {
	dice   *sim.Dice
	travel sim.Delay
	way    []order // the latest to arrive first
	groups map[protocol.Group]*resource
	// Carried and Stale count the orders that were carried out and those that were refused as stale.
	Carried, Stale int
}

// An order is an edict on its way.
type order struct {
	at    sim.Real
	group protocol.Group
	stamp stamp.Edict
	owner owner
}

// An owner is a leadership by whom it was.
type owner struct {
	tenure uint64
	who    protocol.Ident
}

func (o owner) String() string { return fmt.Sprintf("tenure %d of %v", o.tenure, o.who) }

type resource struct {
	gate  fence.Gate
	token uint64 // of the last order carried out
	owner map[uint64]owner
}

// NewResource returns the checker; edicts take so long to arrive, drawn from the seed.
func NewResource(seed uint64, travel sim.Delay) *Resource {
	return &Resource{dice: sim.NewDice(seed, 1<<48), travel: travel, groups: make(map[protocol.Group]*resource)}
}

// Name returns N-TOK, and where.
func (s *Resource) Name() string { return "N-TOK (resource)" }

// Observe sends edicts off, and lets those arrive whose time has come.
func (s *Resource) Observe(r *sim.Record) error {
	if err := s.arrive(r.T); err != nil {
		return err
	}
	e, ok := r.Detail.(stamp.Edict)
	if r.Ev != protocol.EvEdict || r.Dom != protocol.Quorum || !ok {
		return nil
	}
	o := order{at: r.T.Add(s.dice.Draw(s.travel)), group: r.Group, stamp: e, owner: owner{r.Tenure, protocol.Ident{Rank: r.Node, Inc: r.Inc}}}
	s.depart(o)
	if s.dice.Hit(sim.Percent(10)) {
		o.at = o.at.Add(s.dice.Between(0, time.Second))
		s.depart(o)
	}
	return nil
}

// depart puts an order on its way.
func (s *Resource) depart(o order) {
	i, _ := slices.BinarySearchFunc(s.way, o.at, func(p order, at sim.Real) int { return cmp.Compare(at, p.at) })
	s.way = slices.Insert(s.way, i, o)
}

// arrive delivers what is due, the earliest first.
func (s *Resource) arrive(t sim.Real) error {
	for n := len(s.way) - 1; n >= 0 && s.way[n].at <= t; n-- {
		o := s.way[n]
		s.way[n] = order{}
		s.way = s.way[:n]
		if err := s.take(o); err != nil {
			return err
		}
	}
	return nil
}

// take is the resource: it carries an order out if its gate admits it, by the full stamp or, half of the time, by the
// token alone.
func (s *Resource) take(o order) error {
	g := s.groups[o.group]
	if g == nil {
		g = &resource{owner: make(map[uint64]owner)}
		s.groups[o.group] = g
	}
	if other, ok := g.owner[o.stamp.Token]; ok && other != o.owner {
		return Violatedf(s.Name(), o.at, "token %d of %q is used by %s and by %s", o.stamp.Token, o.group, other, o.owner)
	}
	g.owner[o.stamp.Token] = o.owner
	st := fence.Of(o.stamp)
	if s.dice.Hit(sim.Percent(50)) {
		st = fence.Token(o.stamp.Token)
	}
	if err := g.gate.Admit(st); err != nil {
		var stale *fence.StaleError
		if !errors.As(err, &stale) && !errors.Is(err, fence.ErrInconsistent) {
			return Violatedf(s.Name(), o.at, "order %v of %s: %v", st, o.owner, err)
		}
		s.Stale++
		return nil
	}
	if o.stamp.Token < g.token {
		return Violatedf(s.Name(), o.at, "order %v of %s in %q is carried out after one with token %d", st, o.owner, o.group, g.token)
	}
	g.token = o.stamp.Token
	s.Carried++
	return nil
}

// Finish lets everything arrive that is still on its way.
func (s *Resource) Finish() error { return s.arrive(sim.Forever) }
