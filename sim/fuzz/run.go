package fuzz

import (
	"errors"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// A Run is what came of a plan.
type Run struct {
	// Err is the first error: a *check.Violation, or a breach of the contract by a machine.
	Err   error
	Cover *suite.Cover
	Stats sim.Stats
	End   sim.Real
}

// Violated returns the name of the invariant that the run violated: "contract" if a machine broke the contract, empty if
// nothing went wrong.
func (r *Run) Violated() string {
	var v *check.Violation
	switch {
	case r.Err == nil:
		return ""
	case errors.As(r.Err, &v):
		return v.Name
	}
	return "contract"
}

// Play runs a plan to its end or to the first violation. Observers see its trace, after the checkers.
func Play(p *suite.Protocol, pl *Plan, observers ...sim.Observer) (Run, error) {
	if err := pl.Check(p); err != nil {
		return Run{}, err
	}
	c := pl.config(p)
	c.Words = len(observers) > 0
	var cover *suite.Cover
	c.OnNotice = func(n sim.Notice, from protocol.Ident, to protocol.Rank, m protocol.Message) {
		cover.Notice(n, from, to, m)
	}
	w, err := sim.New(c)
	if err != nil {
		return Run{}, err
	}
	cover = suite.NewCover(p, w)
	cover.Clocks(pl.Clocks)
	checkers := p.Checkers(w)
	for _, c := range checkers {
		w.Observe(c)
	}
	w.Observe(cover)
	w.Observe(observers...)
	run := Run{Cover: cover}
	run.Err = pl.phases(p, w)
	for _, c := range checkers {
		if run.Err == nil {
			run.Err = c.Finish()
		}
	}
	run.Stats, run.End = w.Stats(), w.Now()
	return run, nil
}

// phases runs the two phases of the plan.
func (pl *Plan) phases(p *suite.Protocol, w *sim.World) error {
	everyone := protocol.Everyone(pl.Members)
	w.Phase(sim.Safety, everyone)
	w.Schedule(pl.Faults...)
	healed := sim.Real(pl.Safety)
	if err := w.Run(healed); err != nil {
		return err
	}
	for r := range everyone.Minus(pl.Core).All() {
		w.Begin(sim.Fault{Kind: sim.Crash, A: r, B: protocol.Nobody})
	}
	w.Relink(p.Healed(w.Seed(), w.Members(), pl.Core))
	w.Heal(pl.Core)
	w.Phase(sim.Liveness, pl.Core)
	return w.Run(healed.Add(pl.Liveness))
}
