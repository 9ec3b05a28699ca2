package lease

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// roundTrips keeps the slowest round trips to one voter: of the last rtWindow and of those since. With a window of 1,000
// that is about the 99.9 % round trip of Nerio §10.1, in constant space.
type roundTrips struct {
	last, now time.Duration
	n         int
	measured  bool
}

const rtWindow = 1000

func (r *roundTrips) add(d time.Duration) {
	r.now, r.measured = max(r.now, d), true
	r.n++
	if r.n == rtWindow {
		r.last, r.now, r.n = r.now, 0, 0
	}
}

// slowest returns the slowest round trip.
func (r *roundTrips) slowest() time.Duration { return max(r.last, r.now) }

// while is for how long a request asks for the promise of length 0 if only few groups depend on it. With Adapt it is what
// spaces renewals by Renew and still covers two lost rounds at the slowest round trip to a quorum, but no more than the
// configured lease: a shorter lease fails over sooner. While too few voters have answered it is the configured lease.
func (h *Holder) while() time.Duration {
	if !h.cfg.Adapt {
		return h.cfg.Lease
	}
	trip, ok := h.quorumTrip()
	if !ok {
		return h.cfg.Lease
	}
	const lost = 2
	need := (lost+1)*h.cfg.Renew + h.cfg.Rho.WaitAtLeast(trip)
	if h.cfg.Skew != nil {
		need += h.cfg.Skew.Skew()
	}
	return min(h.cfg.Lease, h.cfg.Rho.RealAtMost(need))
}

// quorumTrip returns the slowest round trip to the quickest quorum.
func (h *Holder) quorumTrip() (time.Duration, bool) {
	h.order = h.order[:0]
	for i := range h.voters {
		if h.voters[i].rtt.measured {
			h.order = append(h.order, protocol.Rank(i))
		}
	}
	slices.SortFunc(h.order, func(a, b protocol.Rank) int {
		if d := h.voters[a].rtt.slowest() - h.voters[b].rtt.slowest(); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return int(a) - int(b)
	})
	var s protocol.Set
	for _, r := range h.order {
		s.Add(r)
		if h.policy.Complete(s) {
			return h.voters[r].rtt.slowest(), true
		}
	}
	return 0, false
}
