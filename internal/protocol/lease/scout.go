package lease

import "github.com/regentproject/regent/internal/protocol"

// This file keeps attempts that cannot succeed from taking terms. Tokens are terms, and people read them.
//
// A voter is out of reach if an attempt has failed without an answer of it in time, until it answers anything, or if it has refused to look at requests,
// until the instant that it named. While the others are no quorum, an attempt scouts: it claims nothing, and asks those out of reach in every round, as an
// attempt that claims does. As soon as a quorum is in reach it takes a term and claims. So the first attempt after a death loses no time, and one after
// a time without a quorum loses a round trip.

// outOfReach says whether a voter will not answer a claim now, as far as is known.
func (v *voter) outOfReach(now protocol.Time) bool { return v.deaf || now < v.shut }

// inReach says whether the voters in reach are a quorum.
func (h *Holder) inReach(now protocol.Time) bool {
	var s protocol.Set
	for i := range h.voters {
		if !h.voters[i].outOfReach(now) {
			s.Add(protocol.Rank(i))
		}
	}
	return h.policy.Complete(s)
}

// scouts says whether a tenure has not taken a term yet.
func (t *tenure) scouts() bool { return t.term == 0 }

// claimScouted has attempts that scout claim their groups, as soon as a quorum is in reach.
func (h *Holder) claimScouted(now protocol.Time) {
	if h.scouting == 0 || !h.inReach(now) {
		return
	}
	for _, t := range h.trying {
		if !t.scouts() {
			continue
		}
		h.scouting--
		if t.start != now { // it has as much time as one that did not scout
			t.start = now
			h.schedule(t, now.Add(h.cfg.hold(h.tryFor(t.length))))
		}
		h.propose(now, t)
	}
}

// unansweredSince notes the voters that have not answered anything in time since an attempt began.
func (h *Holder) unansweredSince(start, now protocol.Time) {
	for i := range h.voters {
		if v := &h.voters[i]; v.silent && v.heard < start && now.Sub(start) >= h.patience(v) {
			v.deaf = true
		}
	}
}
