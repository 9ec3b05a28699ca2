package check

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Omega is S-OM: some time after the liveness phase began, every member of the healed core trusts the same member of the
// core, in its present incarnation, and does so until the end. What a member trusts is what its last weak fact says.
type Omega struct {
	truth  Truth
	settle time.Duration

	trusts   []protocol.Ident
	core     protocol.Set
	deadline sim.Real // from here on nothing may change; Forever before the liveness phase
	agreed   bool     // the state at the deadline was looked at
}

// NewOmega returns a checker that gives the core the settle time to agree.
func NewOmega(t Truth, settle time.Duration) *Omega {
	o := &Omega{truth: t, settle: settle, deadline: sim.Forever}
	for range t.Members() {
		o.trusts = append(o.trusts, protocol.NoIdent)
	}
	return o
}

// Name returns S-OM.
func (o *Omega) Name() string { return "S-OM" }

// Observe follows what each member trusts.
func (o *Omega) Observe(r *sim.Record) error {
	if r.T > o.deadline && !o.agreed {
		if err := o.agree(); err != nil {
			return err
		}
	}
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			o.core, o.deadline, o.agreed = r.Members, r.T.Add(o.settle), false
		}
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		o.trusts[r.Node] = protocol.NoIdent
	case protocol.EvWeak:
		if r.T > o.deadline && o.core.Has(r.Node) && r.Peer != o.trusts[r.Node] {
			return Violatedf(o.Name(), r.T, "%v trusts %v instead of %v, %v after its core was healed",
				r.Node, r.Peer, o.trusts[r.Node], r.T.Sub(o.deadline.Add(-o.settle)))
		}
		o.trusts[r.Node] = r.Peer
	}
	return nil
}

// agree checks that the core agrees on one of its members.
func (o *Omega) agree() error {
	o.agreed = true
	first := o.core.Min()
	for r := range o.core.All() {
		leader := o.trusts[r]
		switch {
		case !o.core.Has(leader.Rank):
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, who is not of the healed core %v", r, leader, o.core)
		case leader.Inc != 0 && leader != o.truth.Ident(leader.Rank):
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, who is %v now", r, leader, o.truth.Ident(leader.Rank))
		case leader != o.trusts[first]:
			return Violatedf(o.Name(), o.deadline, "%v trusts %v, but %v trusts %v", r, leader, first, o.trusts[first])
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline. A run that had a liveness phase but
// ended before the deadline has shown nothing, and says so.
func (o *Omega) Finish() error {
	switch {
	case o.agreed || o.deadline == sim.Forever:
		return nil
	case o.truth.Now() < o.deadline:
		return fmt.Errorf("%s cannot be judged: the run ended at %v, before %v", o.Name(), o.truth.Now(), o.deadline)
	}
	return o.agree()
}
