package web

import (
	"time"

	"github.com/regentproject/regent/roster"
)

// CouncilOf returns the council as the page shows it. Since is when it had its number first.
func CouncilOf(c *roster.Council, since time.Duration) *Council {
	out := &Council{Number: c.Number, Settled: c.Settled, Since: since, Waits: c.WaitsFor, Fixed: c.Fixed, FileDiffers: c.FileDiffers, GivenUp: c.Warning()}
	if c.Running() {
		out.Change, out.By, out.Blocked = c.Progress(), c.By, c.Phase == roster.Blocked
	}
	return out
}

// Take shows what a council says of the member.
func (m *Member) Take(c *roster.Council) {
	for i := range c.Members {
		x := &c.Members[i]
		if x.Name != m.Name {
			continue
		}
		switch {
		case x.Witness:
			m.Role = "witness"
		case x.Observer:
			m.Role = "observer"
		}
		m.Leaving = x.Leaving
		if !c.Running() {
			return
		}
		m.Accepted, m.Adopted, m.Settled = x.Accepted, x.Adopted, x.Settled
		if x.New && x.Observer && c.Goal != nil {
			m.Learning, m.Knows, m.Learns = true, min(x.Learnt, c.Groups), c.Groups
		}
		return
	}
}
