package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file carries promises, assignments and tenures from one configuration of the council to the next. Members keep their ranks,
// so nothing is renumbered: lists only grow. The user of the core changes the Config first.

// Promised returns when nothing stands any more that the voter has promised, in whatever length, and what it may have promised
// before it started.
func (g *Grantor) Promised() protocol.Time {
	at := g.ready
	for _, w := range g.wards {
		if w == nil {
			continue
		}
		for _, p := range w.promises {
			at = max(at, p.until)
		}
	}
	for _, p := range g.old {
		at = max(at, p.until)
	}
	return at
}

// Adopt goes on under another configuration: promises, assignments and terms stand as they are.
func (g *Grantor) Adopt() {
	for len(g.wards) < g.cfg.Members {
		g.wards = append(g.wards, nil)
	}
}

// A LongLease is a group whose holder has it in a promise of a length of its own.
type LongLease struct {
	Group  protocol.Group
	Holder protocol.Ident
	Length time.Duration
}

// Longer returns the groups that this voter knows to be led with leases that are longer than a length.
func (g *Grantor) Longer(length time.Duration) (out []LongLease) {
	for _, e := range g.all {
		if e.to != nil && e.to.length > length {
			out = append(out, LongLease{e.group, e.to.to, e.to.length})
		}
	}
	return out
}

// Assigned returns how many groups are assigned to anybody.
func (g *Grantor) Assigned() int { return g.assigned }

// Adopt goes on under another configuration. Leases stand, with their ends, tokens and horizons; from now on their ends move by
// quorums of the new configuration, whatever number a promise was made under. Attempts end: the acknowledgements by which a tenure
// begins are all of one configuration. A vacated seat backs nothing any more, and its member has no claims to answer.
func (h *Holder) Adopt(now protocol.Time, vacated protocol.Set, cause protocol.Cause) {
	for len(h.voters) < h.cfg.Members {
		h.voters = append(h.voters, voter{})
	}
	for _, l := range h.lengths {
		for len(l.by) < h.cfg.Members {
			l.by = append(l.by, standing{})
		}
	}
	for len(h.trying) > 0 {
		h.end(now, h.trying[0], "ended", cause, protocol.Nobody)
	}
	for r := range vacated.All() {
		if int(r) < len(h.voters) {
			h.restarted(protocol.Ident{Rank: r})
			h.voters[r] = voter{}
			// order does not matter: each forgets the same member.
			for _, t := range h.tenures {
				t.forgetSeat(r)
			}
		}
	}
	for _, c := range h.classes {
		for t := c.first; t != nil; t = t.next {
			t.widen(h, c.backers)
		}
	}
	// order does not matter: each loses the same members.
	for key, r := range h.releases {
		r.wants = r.wants.Minus(h.cfg.Absent)
		if r.wants.Empty() {
			delete(h.releases, key)
		}
	}
	if len(h.tenures)+len(h.releases) > 0 {
		h.renew = now
	}
}

// CaughtUp follows the word of a voter that it is in the holder's configuration now. What it was asked before that it has refused: it is
// asked at once, and not with the next renewal.
func (h *Holder) CaughtUp(now protocol.Time) {
	if len(h.tenures)+len(h.releases) > 0 {
		h.renew = now
	}
}

// widen claims a group that is led at the members that have no claim of it yet.
func (t *tenure) widen(h *Holder, backers protocol.Set) {
	t.openBids(h, backers)
	for len(t.bids) < h.cfg.Members {
		t.bids = append(t.bids, bid{term: t.term})
	}
	for i := range t.bids {
		if t.bids[i].state == idle {
			h.queue(t, protocol.Rank(i))
		}
	}
	t.closeBids(&h.cfg.Absent)
}

// forgetSeat is what a tenure keeps of a member that is gone: nothing.
func (t *tenure) forgetSeat(r protocol.Rank) {
	if int(r) < len(t.bids) {
		t.bids[r] = bid{term: t.term}
	}
	t.asked.Remove(r)
	t.candidates.Remove(r)
	t.joined.Remove(r)
}

// present returns the members that there are.
func (c *Config) present() protocol.Set { return protocol.Everyone(c.Members).Minus(c.Absent) }
