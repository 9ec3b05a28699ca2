package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// OneView is R-31/32: when all failures and returns are over there is one manager, and everybody knows the same; and at no time is a member
// told of a view that it is not of, or that its manager is not of.
type OneView struct {
	agreements
	truth Truth
	spec  RainSpec
	core  protocol.Set
}

// NewOneView returns the checker.
func NewOneView(t Truth, s RainSpec) *OneView {
	return &OneView{agreements: newAgreements(t, s.Group), truth: t, spec: s}
}

// Name returns R-31/32.
func (o *OneView) Name() string { return "R-31/32" }

// Observe follows what programs are told.
func (o *OneView) Observe(r *sim.Record) error {
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		o.core = r.Members
	}
	if !o.follow(r) {
		return nil
	}
	a := &o.now[r.Node]
	if !a.members.Has(r.Node) || !a.members.Has(a.manager) {
		return Violatedf(o.Name(), r.T, "%v is told of view %v of %v under %v", r.Node, a.number, a.members, a.manager)
	}
	return nil
}

// Finish counts the managers.
func (o *OneView) Finish() error {
	if o.core.Empty() {
		return nil
	}
	var managers, members protocol.Set
	for r := range protocol.Rank(len(o.now)) {
		if a := &o.now[r]; o.truth.Up(r) && a.number.Vid != 0 {
			members.Add(r)
			if a.manager == r {
				managers.Add(r)
			}
		}
	}
	if !members.Empty() && managers.Len() != 1 && (!managers.Empty() || o.spec.manageable(o.core)) {
		return Violatedf(o.Name(), o.truth.Now(), "%v manage; it must be one", managers)
	}
	return nil
}
