package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A Leadership is what its holder may say about it.
type Leadership struct {
	Tenure, Token uint64
	Horizon       protocol.HorizonID
	// End is E. Cap is Never unless the lease has a set end.
	End, Cap   protocol.Time
	Backers    protocol.Set
	Candidates protocol.Set
	// Joined are those of them that have joined since.
	Joined protocol.Set
	Quorum stamp.Quorum
	// Epoch is the configuration of the first completion.
	Epoch    uint64
	Stopping bool
	// Length is the nominal one; zero: the council's.
	Length time.Duration
}

// Lease returns the member's leadership of the group, if it leads.
func (h *Holder) Lease(group protocol.Group) (Leadership, bool) {
	t := h.tenures[group]
	if t == nil || !t.leads() {
		return Leadership{}, false
	}
	l := Leadership{Tenure: t.number, Token: t.token, Horizon: t.horizon, End: t.end(), Cap: t.until, Candidates: t.candidates, Joined: t.joined,
		Quorum: t.quorum, Epoch: t.epoch, Stopping: t.stopping, Length: t.length.nominal}
	if t.class != nil {
		l.Backers = t.class.backers
	}
	return l, true
}

// Leads returns how many groups are led.
func (h *Holder) Leads() int { return len(h.tenures) - len(h.trying) }
