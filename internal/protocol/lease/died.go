package lease

import (
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// Died ends what was promised to one incarnation of a member that is proven dead, in the groups that its report releases. From now on the
// voter grants that incarnation nothing: a request of it is one that was delayed. What other incarnations of the member were promised
// stands, and so does what the member has promised to others, which is no concern of this voter. It returns whether the report is about the
// latest incarnation that has asked.
func (g *Grantor) Died(now protocol.Time, of protocol.Ident, r *obituary.Report) bool {
	if w := g.wards[of.Rank]; w != nil && w.to.Inc > of.Inc {
		return false
	}
	w := g.ward(of)
	w.dead = min(w.dead, now)
	for _, p := range w.promises {
		for e := p.first; e != nil; {
			next := e.next
			if r.Covers(e.group) {
				g.unassign(now, e, "died", 0, protocol.Cause{Code: protocol.Died, Peer: of.Rank})
			}
			e = next
		}
	}
	return true
}

// died returns since when this voter knows that an incarnation is dead; Never: it does not.
func (g *Grantor) died(who protocol.Ident) protocol.Time {
	if int(who.Rank) >= len(g.wards) {
		return protocol.Never
	}
	if w := g.wards[who.Rank]; w != nil && w.to == who {
		return w.dead
	}
	return protocol.Never
}

// bound returns for how long another voter is bound that has refused a claim. If this one knows that the holder is dead, the other is about to
// learn it: reports go to all voters and are repeated. That has no end only if they are all lost.
func (g *Grantor) bound(now protocol.Time, res *Result) time.Duration {
	if died := g.died(res.Holder); died != protocol.Never && now < died.Add(g.cfg.Lease) {
		return min(res.Remaining, g.cfg.RoundTrip/4)
	}
	return res.Remaining
}

// Dead returns whether this voter knows that an incarnation is dead.
func (g *Grantor) Dead(who protocol.Ident) bool { return g.died(who) != protocol.Never }

// gone returns whether a voter is proven dead, and has not been heard again since.
func (h *Holder) gone(r protocol.Rank) bool {
	if int(r) >= len(h.grantor.wards) {
		return false
	}
	w := h.grantor.wards[r]
	return w != nil && w.dead != protocol.Never && h.voters[r].inc <= w.to.Inc
}
