package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Trusted is S-P: in the end every member of the healed core trusts exactly the core to be alive. S-COMM, both ways, is its
// second half.
type Trusted struct {
	opinions opinions
	end      end
}

// NewTrusted returns a checker that gives the core the settle time to find out.
func NewTrusted(t Truth, settle time.Duration) *Trusted {
	return &Trusted{opinions: newOpinions(t), end: newEnd(settle)}
}

// Name returns S-P.
func (c *Trusted) Name() string { return "S-P" }

// Observe looks at what is trusted when the end begins, and at every change after that.
func (c *Trusted) Observe(r *sim.Record) error {
	if c.end.reached(r) {
		if err := c.agree(r.T); err != nil {
			return err
		}
	}
	c.opinions.follow(r)
	if r.Ev == protocol.EvWeak && c.end.within(r.T) && c.end.core.Has(r.Node) {
		return c.look(r.T, r.Node)
	}
	return nil
}

// agree looks at all members of the core.
func (c *Trusted) agree(t sim.Real) error {
	for r := range c.end.core.All() {
		if err := c.look(t, r); err != nil {
			return err
		}
	}
	return nil
}

// look compares what a member trusts with what is true.
func (c *Trusted) look(t sim.Real, r protocol.Rank) error {
	if got := c.opinions.of[r].members; got != c.end.core {
		return Violatedf(c.Name(), t, "%v trusts %v to be alive, and that is %v", r, got, c.end.core)
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (c *Trusted) Finish() error {
	if c.end.over(c.opinions.truth.Now()) {
		return c.agree(c.opinions.truth.Now())
	}
	return nil
}
