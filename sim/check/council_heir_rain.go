package check

import (
	"reflect"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// HeirsRain returns the checkers of a council that survivors may give up and that has a consistent group.
func HeirsRain(t Truth, s CouncilSpec, group protocol.Group) []Checker {
	all := Heirs(t, s)
	h := all[0].(*heirOne).realms
	lives := &heirLives{realms: h, groups: s.Groups, settle: s.Settle, until: sim.Forever}
	done := make(map[rain.Number]bool)
	recovered := func() Checker {
		x := NewRecovered(group)
		x.done = done // survivors may know what was recovered before
		return x
	}
	return append(all, NewDead(group), &heirRecovered{heirEach{realms: h, make: recovered}},
		&heirOneRecovery{heirEach{realms: h, make: func() Checker { return NewOneRecovery(t, group) }}},
		&heirViews{realms: h, group: group, views: make(map[heirView]*rain.View), knows: make(map[protocol.Rank]heirView), told: make(map[protocol.CouncilID]*rain.View), base: make(map[protocol.CouncilID]*rain.View), done: make(map[heirView]bool)},
		&heirOutside{realms: h, agreements: newAgreements(t, group), in: make([]protocol.CouncilID, t.Members()), moved: make([]sim.Real, t.Members()), last: make(map[protocol.CouncilID]agreement)},
		&heirAgrees{heirLives: lives, agreements: newAgreements(t, group)})
}

// heirEach has a checker of one kind for each council, because two councils that go on from one do not know of each other's numbers.
type heirEach struct {
	*realms
	read int
	make func() Checker
	of   map[protocol.CouncilID]Checker
}

type heirRecovered struct{ heirEach }

func (*heirRecovered) Name() string { return "R-REC (heirs)" }

type heirOneRecovery struct{ heirEach }

func (*heirOneRecovery) Name() string { return "R-ONCE (heirs)" }

func (c *heirEach) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	if c.of == nil {
		c.of = make(map[protocol.CouncilID]Checker)
	}
	if r.Node != protocol.Nobody && c.of[c.at[r.Node]] == nil {
		c.of[c.at[r.Node]] = c.make()
	}
	// order does not matter: each sees the record by itself, and any violation is one.
	for id, x := range c.of {
		if r.Node != protocol.Nobody && r.Dom == protocol.Consistent && r.Group != "" && id != c.at[r.Node] {
			continue
		}
		if err := x.Observe(r); err != nil {
			return err
		}
	}
	return nil
}

func (c *heirEach) Finish() error { return nil }

// heirView is which view of which council.
type heirView struct {
	council protocol.CouncilID
	number  rain.Number
}

// heirViews is R-HEIR, and R-UNIQ and R-JOB for each council. In a council of survivors programs receive no agreement of before. The first one there is on top of
// the last one that any survivor knows, and names all members of the last one that programs received before, and all that was not recovered then. What a
// configuration has agreed on that no survivor has heard of is not promised.
type heirViews struct {
	*realms
	read  int
	group protocol.Group
	views map[heirView]*rain.View
	// knows has the last view that a host knows which has not crashed since it learnt it.
	knows map[protocol.Rank]heirView
	// told is the last one that programs of a council received, and base what that was of the council before when survivors began another.
	told  map[protocol.CouncilID]*rain.View
	base  map[protocol.CouncilID]*rain.View
	done  map[heirView]bool
	confs map[heirNumber]*council.Config
}

func (*heirViews) Name() string { return "R-HEIR" }

func (c *heirViews) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	switch {
	case r.Node == protocol.Nobody:
	case r.Ev == protocol.EvChosen:
		if x, ok := r.Detail.(*council.Config); ok {
			if c.confs == nil {
				c.confs = make(map[heirNumber]*council.Config)
			}
			c.confs[heirNumber{x.Council, x.Number}] = x
			if p := x.Parent(); p != nil && x.Number == p.Number+1 && c.base[x.Council] == nil {
				c.base[x.Council] = c.told[p.Council]
			}
		}
	case r.Ev == sim.EvCrash, r.Ev == sim.EvClose, r.Ev == protocol.EvSpeak && r.Why == "recovered":
		delete(c.knows, r.Node)
	case r.Group != c.group || r.Dom != protocol.Consistent:
	case r.Ev == protocol.EvDone:
		c.done[heirView{c.at[r.Node], rain.Number{Token: r.Term, Vid: r.Gen}}] = true
	case r.Ev == protocol.EvInstall:
		if v, ok := r.Detail.(rain.View); ok {
			return c.installed(r, &v)
		}
	case r.Ev == sim.EvView:
		if v, ok := r.Detail.(*protocol.View); ok && v.Agreed != nil {
			return c.reported(r, v)
		}
	}
	return nil
}

func (c *heirViews) installed(r *sim.Record, v *rain.View) error {
	of := heirView{c.council(c.at[r.Node], v.Epoch), v.Number}
	c.knows[r.Node] = of
	if old := c.views[of]; old == nil {
		c.views[of] = v
	} else if !reflect.DeepEqual(old, v) {
		return Violatedf("R-UNIQ", r.T, "%v installs view %v of %v under %v; elsewhere it is of %v under %v", r.Node, v.Number, v.Members, v.Manager, old.Members, old.Manager)
	}
	if r.Why != "decided" {
		return nil
	}
	if before := c.parent(of.council, v); before != nil {
		if skipped := before.Members.Minus(v.Failed).Minus(v.Members); !skipped.Empty() {
			return Violatedf("R-JOB", r.T, "%v decides view %v: %v of view %v is not there any more, and did not fail", r.Node, v.Number, skipped, v.Parent)
		}
	}
	x := c.chosen[c.at[r.Node]]
	if x == nil || v.Before > x.first.Parent().Number {
		return nil
	}
	return c.first(r, v, x)
}

// first judges the first view of a council of survivors.
func (c *heirViews) first(r *sim.Record, v *rain.View, x *heirCouncil) error {
	parent := x.first.Parent()
	for i := range x.latest.Members {
		m := &x.latest.Members[i]
		n, knows := c.knows[m.Seat]
		if w := c.views[n]; !knows || n.council == x.first.Council || m.Since > parent.Number || w.Epoch > parent.Number {
			continue
		}
		if n.number.Compare(v.Parent) > 0 {
			return Violatedf(c.Name(), r.T, "%v decides view %v of council %v on top of %v, and %v knows view %v", r.Node, v.Number, x.first.Council, v.Parent, m.Seat, n.number)
		}
	}
	before := c.base[x.first.Council]
	if before == nil || v.Parent == (rain.Number{}) {
		return nil
	}
	return c.names(r, v, x, parent, before)
}

// council returns of which council a view is that a host of another one has installed, by the number of its configuration.
func (c *heirViews) council(in protocol.CouncilID, number uint64) protocol.CouncilID {
	if x := c.chosen[in]; x != nil {
		for i := range x.first.Parents {
			if p := &x.first.Parents[i]; number <= p.Number {
				return p.Council
			}
		}
	}
	return in
}

// parent returns the view on top of which one was decided.
func (c *heirViews) parent(of protocol.CouncilID, v *rain.View) *rain.View {
	return c.views[heirView{c.council(of, v.Before), v.Parent}]
}

// names says whether a view names all that a view of the council before had left to recover.
func (c *heirViews) names(r *sim.Record, v *rain.View, x *heirCouncil, parent *council.Parent, last *rain.View) error {
	named := append(slices.Clone(v.Unfinished), protocol.Loss{Number: v.Before, Members: v.Failed})
	owed := []protocol.Loss{{Number: last.Epoch, Members: last.Members}}
	if !c.done[heirView{parent.Council, last.Number}] {
		owed = append(append(owed, last.Unfinished...), protocol.Loss{Number: last.Before, Members: last.Failed})
	}
	for _, l := range owed {
		for seat := range l.Members.All() {
			since, ok := c.since(parent.Council, l.Number, seat)
			if !ok || l.Number > parent.Number {
				continue
			}
			if !slices.ContainsFunc(named, func(n protocol.Loss) bool {
				s, ok := since, n.Members.Has(seat)
				return ok && n.Number >= s && (n.Number < c.until(x.first, seat, s))
			}) {
				return Violatedf(c.Name(), r.T, "%v decides view %v of council %v and does not name %v of number %d: view %v of council %v had it last", r.Node, v.Number, x.first.Council, seat,
					l.Number, last.Number, parent.Council)
			}
		}
	}
	return nil
}

// since returns the number that gave a seat to its member in a configuration.
func (c *heirViews) since(id protocol.CouncilID, number uint64, seat protocol.Rank) (uint64, bool) {
	x := c.confs[heirNumber{id, number}]
	if x == nil {
		return 0, number == 0
	}
	m := x.At(seat)
	if m == nil {
		return 0, false
	}
	return m.Since, true
}

// until returns the first number in which a member that has had its seat since a number has it no more.
func (*heirViews) until(x *council.Config, seat protocol.Rank, since uint64) uint64 {
	for i := range x.Former {
		if f := &x.Former[i]; f.Seat == seat && f.Since == since {
			return f.Until
		}
	}
	return 1 << 63
}

func (c *heirViews) reported(r *sim.Record, got *protocol.View) error {
	n, in := rain.Number{Token: got.Term, Vid: got.Agreed.Vid}, c.at[r.Node]
	v := c.views[heirView{in, n}]
	if x := c.chosen[in]; x != nil && c.views[heirView{in, n}] == nil && c.knows[r.Node].council != in {
		return Violatedf(c.Name(), r.T, "the program of %v receives view %v in council %v, and that is of the council before", r.Node, n, in)
	}
	if v == nil || v.Members != got.Support || !v.Members.Has(r.Node) {
		return Violatedf("R-UNIQ", r.T, "the program of %v receives view %v of %v, which no member installed", r.Node, n, got.Support)
	}
	last := c.told[in]
	if last != nil && n.Compare(last.Number) <= 0 {
		return nil
	}
	if last != nil && c.forgot.Empty() {
		w := v
		for w != nil && w.Number.Vid > last.Number.Vid {
			w = c.parent(in, w)
		}
		if w == nil || w.Number.Vid != last.Number.Vid || w.Members != last.Members {
			return Violatedf("R-UNIQ", r.T, "the program of %v receives view %v, which was not decided on top of %v", r.Node, n, last.Number)
		}
	}
	c.told[in] = v
	return nil
}

func (*heirViews) Finish() error { return nil }

// heirOutside is R-OUT for each council, and between councils: when programs of a council of survivors receive a view, no program goes on by leave of before
// the survivors had agreed that is not of that view.
type heirOutside struct {
	*realms
	agreements
	read  int
	in    []protocol.CouncilID // in which council each program received its view
	moved []sim.Real           // when its leave to go on was extended last
	last  map[protocol.CouncilID]agreement
}

func (*heirOutside) Name() string { return "R-OUT (heirs)" }

func (o *heirOutside) Observe(r *sim.Record) error {
	o.take(r, &o.read)
	if r.Ev == protocol.EvHorizon && r.Dom == protocol.Consistent && r.Group == o.group {
		o.moved[r.Node] = r.T
		return o.judge(r.Node, o.in[r.Node], r.T)
	}
	if r.Node == protocol.Nobody || !o.follow(r) {
		return nil
	}
	in := o.realms.at[r.Node]
	if o.in[r.Node] != in {
		o.moved[r.Node] = max(o.moved[r.Node], r.T)
	}
	o.in[r.Node] = in
	if now := o.now[r.Node]; now.number.Compare(o.last[in].number) > 0 {
		o.last[in] = now
		for q := range protocol.Rank(len(o.now)) {
			if err := o.judge(q, in, r.T); err != nil {
				return err
			}
		}
	}
	return o.judge(r.Node, in, r.T)
}

// judge looks whether a program that is not of the last view of a council goes on.
func (o *heirOutside) judge(q protocol.Rank, in protocol.CouncilID, t sim.Real) error {
	a, last := &o.now[q], o.last[in]
	same := o.in[q] == in
	switch {
	case a.number.Vid == 0, same && last.members.Has(q), last.number.Vid == 0:
		return nil
	case !same && (!o.descends(in, o.in[q]) || o.moved[q] > o.chosen[in].at):
		return nil
	}
	end, _ := o.ledger.End(q, protocol.Consistent, o.group, a.horizon)
	if clock := o.truth.Clock(q).At(t); clock < end {
		return Violatedf(o.Name(), t, "%v goes on in view %v of %v in council %v until %v; its clock shows %v, and programs of council %v received view %v of %v",
			q, a.number, a.members, o.in[q], end, clock, in, last.number, last.members)
	}
	return nil
}

func (*heirOutside) Finish() error { return nil }

// heirAgrees is C-AGREE for councils of survivors.
type heirAgrees struct {
	*heirLives
	agreements
}

func (*heirAgrees) Name() string { return "C-AGREE (heirs)" }

func (a *heirAgrees) Observe(r *sim.Record) error {
	if r.Node != protocol.Nobody {
		a.agreements.follow(r)
	}
	return a.heirLives.Observe(r)
}

func (a *heirAgrees) Finish() error {
	a.last = max(a.last, a.truth.Now())
	if a.last < a.until {
		return nil
	}
	// order does not matter: any of them is a violation.
	for id, x := range a.chosen {
		if !a.judged(id, x) {
			continue
		}
		var all protocol.Set
		for m := range x.latest.Present().All() {
			if !x.latest.Going(m) && a.truth.Up(m) {
				all.Add(m)
			}
		}
		for m := range all.All() {
			if y := &a.now[m]; y.members != all {
				return Violatedf(a.Name(), a.last, "%v is in view %v of %v; the members of council %v are %v", m, y.number, y.members, id, all)
			}
		}
	}
	return nil
}
