package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// Recovered is R-REC: no change is decided while a manager that is still a member recovers what was lost by the one before. If it is not one any
// more, what it had to recover is named as unfinished.
type Recovered struct {
	group protocol.Group
	views map[rain.Number]rain.View
	done  map[rain.Number]bool
}

// NewRecovered returns the checker of one group.
func NewRecovered(g protocol.Group) *Recovered {
	return &Recovered{g, make(map[rain.Number]rain.View), make(map[rain.Number]bool)}
}

// Name returns R-REC.
func (c *Recovered) Name() string { return "R-REC" }

// Observe judges each decision by the view on top of which it is made.
func (c *Recovered) Observe(r *sim.Record) error {
	if r.Group != c.group || r.Dom != protocol.Consistent {
		return nil
	}
	switch r.Ev {
	case protocol.EvDone:
		c.done[rain.Number{Token: r.Term, Vid: r.Gen}] = true
	case protocol.EvInstall:
		v, ok := r.Detail.(rain.View)
		if !ok {
			return nil
		}
		c.views[v.Number] = v
		if r.Why == "decided" {
			return c.decided(r, &v)
		}
	}
	return nil
}

func (c *Recovered) decided(r *sim.Record, v *rain.View) error {
	before, ok := c.views[v.Parent]
	if !ok || c.done[v.Parent] {
		return nil
	}
	if stays := v.Members.Minus(v.Joined); stays.Has(before.Manager) {
		return Violatedf(c.Name(), r.T, "%v decides view %v while %v recovers what was lost by %v", r.Node, v.Number, before.Manager, v.Parent)
	}
	if lost := before.Failed.Union(before.Unfinished); !v.Unfinished.Contains(lost) {
		return Violatedf(c.Name(), r.T, "%v decides view %v and forgets that %v of %v were not recovered", r.Node, v.Number, lost, v.Parent)
	}
	return nil
}

// Finish has nothing to add.
func (c *Recovered) Finish() error { return nil }
