package lease

import "github.com/regentproject/regent/internal/protocol"

// Candidate takes note that a member would, or would not, lead a group that this one leads.
func (h *Holder) Candidate(group protocol.Group, who protocol.Rank, yes bool) {
	if t := h.tenures[group]; t != nil {
		h.candidate(t, who, yes)
	}
}

func (h *Holder) candidate(t *tenure, who protocol.Rank, yes bool) {
	if yes {
		t.candidates.Add(who)
		return
	}
	t.candidates.Remove(who)
	t.joined.Remove(who)
}

// Joined takes note that a candidate of a group that this member leads, or tries for, has joined meanwhile.
func (h *Holder) Joined(group protocol.Group, who protocol.Rank) {
	if t := h.tenures[group]; t != nil && t.candidates.Has(who) {
		t.joined.Add(who)
		h.joined = true
	}
}

// TakeJoined says whether any candidate has joined since it was last asked.
func (h *Holder) TakeJoined() bool {
	yes := h.joined
	h.joined = false
	return yes
}

// KeepJoined forgets those that have joined and that keep does not want.
func (h *Holder) KeepJoined(keep func(group protocol.Group, who protocol.Rank) bool) {
	// order does not matter: each tenure is looked at by itself.
	for g, t := range h.tenures {
		for r := range t.joined.All() {
			if !keep(g, r) {
				t.joined.Remove(r)
			}
		}
	}
}
