package check

import (
	"errors"
	"time"

	"github.com/regentproject/regent/sim"
)

// Eventual is T-EL: S-OM under the assumption of an elector that does without timely links. The assumption is enforced by
// how links are in the liveness phase, so a core that does not agree is wrong, not unlucky.
type Eventual struct{ omega *Omega }

// NewEventual returns a checker that gives the core the settle time to agree.
func NewEventual(t Truth, settle time.Duration) *Eventual { return &Eventual{NewOmega(t, settle)} }

// Name returns T-EL.
func (e *Eventual) Name() string { return "T-EL" }

// Observe follows what each member trusts.
func (e *Eventual) Observe(r *sim.Record) error { return e.rename(e.omega.Observe(r)) }

// Finish looks at the end.
func (e *Eventual) Finish() error { return e.rename(e.omega.Finish()) }

func (e *Eventual) rename(err error) error {
	var v *Violation
	if errors.As(err, &v) {
		v.Name = e.Name()
	}
	return err
}
