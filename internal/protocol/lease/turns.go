package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file chooses the voters that a round of renewals leaves out. A lease needs the promises of a quorum, so a round asks a quorum and no more where
// the promises of the others last: every voter is asked in every second round at least. docs/nerio.md has the argument.
//
// A voter is left out of a round only if
//
//   - it was asked in the round before, for each length that the round renews;
//   - its promises last, by its own answers, until the next round and spareTrips after it. So it can be asked again, once more if that request is lost;
//   - nothing waits to be sent to it;
//   - those that are asked, and have answered in time so far, are a quorum that backs each lease that the round renews.
//
// Nobody is left out while leases are too short for that, or by a member with more than manyTenures groups. If one of those that were asked does not answer in time, or does not keep its promise, the
// others are asked at once.

// spareTrips is how many round trips the promise of a voter that is left out outlasts the next round, in halves: one for a request that is
// lost, and half of one for its repetition.
const spareTrips = 3

// manyTenures is how many groups a member leads at most that leaves voters out. When it dies, the promises to it lapse one after the other, and candidates whose
// own lapses first are refused. For ten thousand groups that took half as long again as the failover itself.
const manyTenures = 256

// spare returns the voters that the present round leaves out, and remembers them.
func (h *Holder) spare(now protocol.Time) (out protocol.Set) {
	asked := h.prompt()
	for i := range h.voters {
		r := protocol.Rank(i)
		if len(h.tenures) > manyTenures || r == h.me.Rank || !asked.Has(r) || !h.lasts(now, r) {
			continue
		}
		asked.Remove(r)
		if h.carry(asked) {
			out.Add(r)
		} else {
			asked.Add(r)
		}
	}
	for _, l := range h.lengths {
		if l.due {
			for i := range l.by {
				l.by[i].spared = out.Has(protocol.Rank(i))
			}
		}
	}
	return out
}

// prompt returns the voters that answer in time.
func (h *Holder) prompt() (s protocol.Set) {
	for i := range h.voters {
		if v := &h.voters[i]; !v.silent && v.late == 0 && v.omitted == 0 {
			s.Add(protocol.Rank(i))
		}
	}
	return s
}

// lasts says whether a voter can be left out of the present round for its own sake.
func (h *Holder) lasts(now protocol.Time, r protocol.Rank) bool {
	if h.pending(&h.voters[r], r) {
		return false
	}
	trips := h.cfg.Rho.WaitAtLeast(spareTrips * h.cfg.RoundTrip / 2)
	for _, l := range h.lengths {
		if l.due && (l.by[r].spared || l.by[r].end < now.Add(h.interval(l)+trips)) {
			return false
		}
	}
	return true
}

// carry says whether the answers of these voters extend every lease that the present round renews.
func (h *Holder) carry(asked protocol.Set) bool {
	for _, c := range h.classes {
		if c.length.due && !h.policy.Complete(asked.Intersect(c.backers)) {
			return false
		}
	}
	return true
}

// interval returns how long after a round that renews a length the next one does, at most.
func (h *Holder) interval(l *length) time.Duration { return h.every(l) * h.cfg.Renew }

// replace asks the voters at once that the last round has left out, because one that it has asked does not do.
func (h *Holder) replace(now protocol.Time) {
	if h.renew == protocol.Never {
		return
	}
	for _, l := range h.lengths {
		for i := range l.by {
			if l.used() && l.by[i].spared {
				l.next, h.renew = now, min(h.renew, now)
				break
			}
		}
	}
}

// askAll has the next round leave out nobody.
func (h *Holder) askAll() {
	for _, l := range h.lengths {
		for i := range l.by {
			l.by[i].spared = true
		}
	}
}
