package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// Departures is R-EVICT: of members that are well and linked with one another, no more are made to leave than there are members that
// fail by losing their links, one by one and however slowly; and in the end all that are well are in one view of exactly them
// (RAIN, Theorem 3.1). It is for runs in which nothing else goes wrong.
type Departures struct {
	agreements
	truth   Truth
	failing protocol.Set
	from    sim.Real
	wrong   protocol.Set // who had to leave and was well
	count   int
	seen    map[rain.Number]bool
}

// NewDepartures returns the checker for a run in which those members fail, from an instant on at which all are in one view.
func NewDepartures(t Truth, g protocol.Group, failing protocol.Set, from sim.Real) *Departures {
	return &Departures{agreements: newAgreements(t, g), truth: t, failing: failing, from: from, seen: make(map[rain.Number]bool)}
}

// Name returns R-EVICT.
func (d *Departures) Name() string { return "R-EVICT" }

// Observe counts who is left out of a view.
func (d *Departures) Observe(r *sim.Record) error {
	d.follow(r)
	if r.T < d.from || r.Ev != protocol.EvInstall || r.Group != d.group || r.Why != "decided" {
		return nil
	}
	v := r.Detail.(rain.View)
	if d.seen[v.Number] || d.failing.Contains(v.Members) {
		return nil // members that fail may be linked with one another for a while: without a gate they have views of their own
	}
	d.seen[v.Number] = true
	well := v.Failed.Minus(d.failing)
	d.wrong = d.wrong.Union(well)
	d.count += well.Len()
	if d.count > d.failing.Len() {
		return Violatedf(d.Name(), r.T, "view %v of %v: %d departures of %v, which are well; only %v fail", v.Number, v.Members, d.count, d.wrong, d.failing)
	}
	return nil
}

// Finish looks whether all that are well are in one view, with one manager among them.
func (d *Departures) Finish() error {
	well := protocol.Everyone(len(d.now)).Minus(d.failing)
	first := d.now[well.Min()]
	for r := range well.All() {
		if a := d.now[r]; a.number.Vid == 0 || a.members != well || a.number != first.number || a.manager != first.manager {
			return Violatedf(d.Name(), d.truth.Now(), "%v is in view %v of %v under %v; %v are well", r, a.number, a.members, a.manager, well)
		}
	}
	return nil
}
