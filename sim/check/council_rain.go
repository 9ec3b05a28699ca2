package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// CouncilRain returns the checkers of a council that changes and has a consistent group: those of both that hold across configurations,
// and those of the two together.
func CouncilRain(t Truth, s CouncilSpec, group protocol.Group) []Checker {
	spec := RainSpec{Group: group, Gated: true, Leaders: protocol.Everyone(t.Members()), Settle: s.Settle}
	s.Views = group
	return append(Council(t, s), NewDead(group), NewOneView(t, spec), NewOneChain(group), NewOutside(t, group), NewRecovered(group), NewOneRecovery(t, group),
		NewViewsCarried(t, group), NewJobs(group), NewAgrees(t, s, group))
}

// configs are the configurations that were chosen, by number.
type configs map[uint64]*council.Config

func (c configs) take(r *sim.Record) {
	if r.Ev == protocol.EvChosen {
		if x, ok := r.Detail.(*council.Config); ok {
			c[x.Number] = x
		}
	}
}

// since returns the number of the configuration that gave a seat to its member in a configuration; false if the seat is empty. Nothing tells of
// the first configuration: all its members have their seats since it.
func (c configs) since(number uint64, seat protocol.Rank) (uint64, bool) {
	x := c[number]
	if x == nil {
		return 0, true
	}
	m := x.At(seat)
	if m == nil {
		return 0, false
	}
	return m.Since, true
}

// ViewsCarried is C-VIEW: a member that settles in a configuration knows every view that programs received under those before it.
type ViewsCarried struct {
	*history
	configs
	read  int
	group protocol.Group
	knows map[protocol.Rank]rain.Number
	// hearsay are members whose views are on no disk.
	hearsay protocol.Set
	// unsure are members that crashed then: a manager may have sent them the view that they had heard of, which no fact tells.
	unsure protocol.Set
	// received has, by number, the last view that programs received while its manager was in that configuration.
	received map[uint64]rain.Number
	last     rain.Number
}

// NewViewsCarried returns the checker of one group.
func NewViewsCarried(t Truth, g protocol.Group) *ViewsCarried {
	return &ViewsCarried{history: newHistory(t), configs: make(configs), group: g, knows: make(map[protocol.Rank]rain.Number),
		received: make(map[uint64]rain.Number)}
}

// Name returns C-VIEW.
func (*ViewsCarried) Name() string { return "C-VIEW" }

// Observe follows who knows which view, and looks at members that settle.
func (c *ViewsCarried) Observe(r *sim.Record) error {
	c.history.take(r, &c.read)
	c.configs.take(r)
	switch {
	case r.Ev == protocol.EvSpeak && r.Why == "recovered":
		c.hearsay.Add(r.Node)
		c.unsure.Remove(r.Node)
		delete(c.knows, r.Node)
	case r.Ev == sim.EvCrash && c.hearsay.Has(r.Node):
		c.unsure.Add(r.Node)
		delete(c.knows, r.Node)
	case r.Ev == protocol.EvInstall && r.Group == c.group:
		c.unsure.Remove(r.Node)
		c.knows[r.Node] = rain.Number{Token: r.Term, Vid: r.Gen}
		if r.Why != "heard" {
			c.hearsay.Remove(r.Node)
		}
	case r.Ev == sim.EvView && r.Group == c.group && r.Dom == protocol.Consistent:
		if v, ok := r.Detail.(*protocol.View); ok && v.Agreed != nil {
			if n := (rain.Number{Token: v.Term, Vid: v.Agreed.Vid}); n.Compare(c.last) > 0 {
				c.last = n
				c.received[c.hosts[v.Leader.Rank].number] = n
			}
		}
	case r.Ev == protocol.EvSettle && r.Why != "record" && r.Seq > 0:
		return c.settles(r)
	}
	return nil
}

func (c *ViewsCarried) settles(r *sim.Record) error {
	var need rain.Number
	for number, n := range c.received { // order does not matter: it is a maximum
		if number < r.Seq && n.Compare(need) > 0 {
			need = n
		}
	}
	if c.unsure.Has(r.Node) || c.knows[r.Node].Compare(need) >= 0 {
		return nil
	}
	for q, n := range c.knows { // order does not matter: any of them is enough
		if _, ok := c.since(r.Seq, q); ok && n.Compare(need) >= 0 {
			return Violatedf(c.Name(), r.T, "%v has settled in configuration %d and knows view %v; programs received view %v before, and %v knows it",
				r.Node, r.Seq, c.knows[r.Node], need, q)
		}
	}
	return nil
}

// Finish has nothing to add.
func (*ViewsCarried) Finish() error { return nil }

// Jobs is R-JOB: every member that was of a view and is not of the next one is named as failed there, once: also one whose seat another
// member has by now.
type Jobs struct {
	configs
	group protocol.Group
	views map[rain.Number]rain.View
}

// NewJobs returns the checker of one group.
func NewJobs(g protocol.Group) *Jobs { return &Jobs{make(configs), g, make(map[rain.Number]rain.View)} }

// Name returns R-JOB.
func (*Jobs) Name() string { return "R-JOB" }

// Observe compares each view that is decided with the one on top of which it is.
func (j *Jobs) Observe(r *sim.Record) error {
	j.take(r)
	if r.Ev != protocol.EvInstall || r.Group != j.group {
		return nil
	}
	v, ok := r.Detail.(rain.View)
	if !ok {
		return nil
	}
	j.views[v.Number] = v
	before, known := j.views[v.Parent]
	if r.Why != "decided" || !known {
		return nil
	}
	for s := range before.Members.All() {
		since, there := j.since(v.Epoch, s)
		same := there && since <= before.Epoch
		switch {
		case same && v.Members.Has(s) || v.Failed.Has(s):
		default:
			return Violatedf(j.Name(), r.T, "%v decides view %v of %v in configuration %d: %v of view %v is not there any more, and nobody recovers what it left",
				r.Node, v.Number, v.Members, v.Epoch, s, before.Number)
		}
	}
	if v.Before != before.Epoch {
		return Violatedf(j.Name(), r.T, "%v decides view %v, and names those of view %v that failed by configuration %d; that view is of configuration %d", r.Node, v.Number,
			before.Number, v.Before, before.Epoch)
	}
	if twice := v.Failed.Minus(before.Members); !twice.Empty() {
		return Violatedf(j.Name(), r.T, "%v decides view %v: %v failed before view %v already", r.Node, v.Number, twice, before.Number)
	}
	return nil
}

// Finish has nothing to add.
func (*Jobs) Finish() error { return nil }

// Agrees is C-AGREE, which is R-WL across configurations: the members of a council that is healed, settled and of which none has to find out what it forgot are
// in one view of exactly them in the end.
type Agrees struct {
	*Lives
	agreements
	configs
}

// NewAgrees returns the checker of one group.
func NewAgrees(t Truth, s CouncilSpec, g protocol.Group) *Agrees {
	return &Agrees{&Lives{cursor: cursor{timedLedger: newTimedLedger(t)}, history: newHistory(t), settle: s.Settle, until: sim.Forever, views: g}, newAgreements(t, g), make(configs)}
}

// Name returns C-AGREE.
func (*Agrees) Name() string { return "C-AGREE" }

// Observe follows the views that programs receive.
func (a *Agrees) Observe(r *sim.Record) error {
	a.agreements.follow(r)
	a.configs.take(r)
	return a.Lives.Observe(r)
}

// Finish looks at the views in the end.
func (a *Agrees) Finish() error {
	c := a.configs[a.latest]
	a.last = max(a.last, a.history.truth.Now())
	if a.last < a.until || c == nil || a.forgetful() {
		return nil
	}
	var all protocol.Set
	for r := range c.Present().All() {
		if x := &a.hosts[r]; c.Going(r) || !a.history.truth.Up(r) {
			continue
		} else if !x.seated || x.number != a.latest || !x.settled {
			return nil // that is C-LIVE
		}
		all.Add(r)
	}
	first := &a.now[all.Min()]
	for r := range all.All() {
		if x := &a.now[r]; x.members != all || x.number != first.number {
			return Violatedf(a.Name(), a.last, "%v is in view %v of %v; the members of configuration %d are %v", r, x.number, x.members, a.latest, all)
		}
	}
	return nil
}
