package lease

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// roundTrips keeps the slowest round trips to one voter, in constant space: the slowest of the last 1,000 and of those since,
// about the 99.9 % round trip of Nerio §10.1, and the second slowest of the last 100 and of those since, about the 99 % one.
type roundTrips struct {
	many, few slowest
	measured  bool
}

const (
	manyTrips = 1000
	fewTrips  = 100
)

// slowest has the two slowest of a window of round trips and of those since, slowest first.
type slowest struct {
	last, now [2]time.Duration
	n         int
}

func (r *roundTrips) add(d time.Duration) {
	r.measured = true
	r.many.add(d, manyTrips)
	r.few.add(d, fewTrips)
}

func (s *slowest) add(d time.Duration, window int) {
	switch {
	case d > s.now[0]:
		s.now = [2]time.Duration{d, s.now[0]}
	case d > s.now[1]:
		s.now[1] = d
	}
	s.n++
	if s.n == window {
		*s = slowest{last: s.now}
	}
}

// slowest returns the slowest round trip.
func (r *roundTrips) slowest() time.Duration { return max(r.many.last[0], r.many.now[0]) }

// p99 returns the round trip that one in a hundred exceeds; zero while fewer than two were measured.
func (r *roundTrips) p99() time.Duration {
	s := &r.few
	return max(min(s.last[0], s.now[0]), s.last[1], s.now[1])
}

// appendState appends what is ever acted on. Round trips that need no slow-down are alike.
func (r *roundTrips) appendState(s *State, c *Config) {
	if c.Adapt {
		r.many.appendState(s, 0)
	}
	r.few.appendState(s, c.patience())
}

func (s *slowest) appendState(st *State, below time.Duration) {
	any := false
	for _, d := range [4]time.Duration{s.last[0], s.last[1], s.now[0], s.now[1]} {
		if d <= below {
			d = 0
		}
		any = any || d > 0
		st.Int(int64(d))
	}
	if any {
		st.Int(int64(s.n))
	}
}

// while is for how long a request asks for the promise of length 0 if only few groups depend on it. With Adapt it is what
// spaces renewals by Renew and still covers two lost rounds at the slowest round trip to a quorum, but no more than the
// configured lease: a shorter lease fails over sooner. While too few voters have answered it is the configured lease.
func (h *Holder) while() time.Duration {
	if !h.cfg.Adapt {
		return h.cfg.Lease
	}
	trip, ok := h.quorumTrip((*roundTrips).slowest)
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

// quorumTrip returns the longest round trip to the quickest quorum, by what is taken of each voter's.
func (h *Holder) quorumTrip(of func(*roundTrips) time.Duration) (time.Duration, bool) {
	h.order = h.order[:0]
	for i := range h.voters {
		if h.voters[i].rtt.measured {
			h.order = append(h.order, protocol.Rank(i))
		}
	}
	slices.SortFunc(h.order, func(a, b protocol.Rank) int {
		if d := of(&h.voters[a].rtt) - of(&h.voters[b].rtt); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return int(a) - int(b)
	})
	var s protocol.Set
	for _, r := range h.order {
		s.Add(r)
		if h.policy.Complete(s) {
			return of(&h.voters[r].rtt), true
		}
	}
	return 0, false
}
