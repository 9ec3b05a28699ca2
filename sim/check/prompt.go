package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Prompt is S-9D: while all links are good and nobody comes or goes, nobody is without a leader for longer than the bound
// (9δ), in any phase of a run.
type Prompt struct {
	opinions opinions
	access   access
	bound    time.Duration
	able     func(up protocol.Set) bool
	without  sim.Real // since when there has been no leader; Forever while there is one
}

// NewPrompt returns the checker. Where those that are up are not able to elect anybody, nothing is asked of them; nil:
// anybody is able. It needs the records of messages.
func NewPrompt(t Truth, l Links, bound time.Duration, able func(up protocol.Set) bool) *Prompt {
	return &Prompt{opinions: newOpinions(t), access: newAccess(t, l), bound: bound, able: able}
}

// Name returns S-9D.
func (p *Prompt) Name() string { return "S-9D" }

// Observe watches for how long there is no leader.
func (p *Prompt) Observe(r *sim.Record) error {
	err := p.late(r.T)
	p.access.follow(r)
	if p.opinions.follow(r) {
		switch led := p.opinions.leader(r.T, 0).Rank != protocol.Nobody; {
		case led:
			p.without = sim.Forever
		case p.without == sim.Forever:
			p.without = r.T
		}
	}
	return err
}

// late says whether a leader is overdue at t.
func (p *Prompt) late(t sim.Real) error {
	if p.without == sim.Forever || t.Sub(p.without) <= p.bound {
		return nil
	}
	since := max(p.without, p.access.good(t))
	up := p.opinions.up()
	if t.Sub(since) <= p.bound || up.Empty() || p.able != nil && !p.able(up) {
		return nil
	}
	return Violatedf(p.Name(), t, "there has been no leader since %v; all has been well since %v, and %v should do", p.without, since, p.bound)
}

// Finish looks at the last gap.
func (p *Prompt) Finish() error { return p.late(p.opinions.truth.Now()) }
