package lease

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// roundTrips keeps the slowest round trips to one voter, in constant space: the slowest of the last 1,000 and of those since,
// about the 99.9 % round trip of Nerio §10.1, and the second slowest of the last 100 and of those since, about the 99 % one. The latter retries are slowed
// down by, so it forgets round trips that are older than twice tripsAge: a candidate that waits measures none.
type roundTrips struct {
	many, few slowest
	measured  bool
}

const (
	manyTrips = 1000
	fewTrips  = 100
	tripsAge  = 10 * time.Second
)

// slowest has the two slowest of a window of round trips and of those since, slowest first.
type slowest struct {
	last, now [2]time.Duration
	n         int
	began     protocol.Time // when the window under way began
}

func (r *roundTrips) add(now protocol.Time, d time.Duration) {
	r.measured = true
	r.many.add(now, d, manyTrips)
	r.few.age(now)
	r.few.add(now, d, fewTrips)
}

// age ends windows that are over by time.
func (s *slowest) age(now protocol.Time) {
	switch since := now.Sub(s.began); {
	case since >= 2*tripsAge:
		*s = slowest{began: now}
	case since >= tripsAge:
		*s = slowest{last: s.now, began: s.began.Add(tripsAge)}
	}
}

func (s *slowest) add(now protocol.Time, d time.Duration, window int) {
	switch {
	case d > s.now[0]:
		s.now = [2]time.Duration{d, s.now[0]}
	case d > s.now[1]:
		s.now[1] = d
	}
	s.n++
	if s.n == window {
		*s = slowest{last: s.now, began: now}
	}
}

// slowest returns the slowest round trip.
func (r *roundTrips) slowest() time.Duration { return max(r.many.last[0], r.many.now[0]) }

// p99 returns the round trip that one in a hundred exceeds; zero while fewer than two were measured lately.
func (r *roundTrips) p99(now protocol.Time) time.Duration {
	s := r.few
	s.age(now)
	return max(min(s.last[0], s.now[0]), s.last[1], s.now[1])
}

// appendState appends what is ever acted on. Round trips that need no slow-down are alike.
func (r *roundTrips) appendState(s *State, c *Config) {
	if c.Adapt {
		r.many.appendState(s, 0)
	}
	few := r.few
	few.age(s.Now)
	if few.appendState(s, c.patience()) {
		s.Future(few.began.Add(tripsAge))
	}
}

func (s *slowest) appendState(st *State, below time.Duration) (any bool) {
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
	return any
}

// while is for how long a request asks for the promise of length 0 if only few groups depend on it. With Adapt it is what
// spaces renewals by Renew and still covers two lost rounds at the slowest round trip to a quorum, but no more than the
// configured lease: a shorter lease fails over sooner. While too few voters have answered it is the configured lease.
func (h *Holder) while() time.Duration {
	if !h.cfg.Adapt {
		return h.cfg.Lease
	}
	trip, ok := h.quorumTrip(func(v *voter) time.Duration { return v.rtt.slowest() })
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
func (h *Holder) quorumTrip(of func(*voter) time.Duration) (time.Duration, bool) {
	h.order = h.order[:0]
	for i := range h.voters {
		if h.voters[i].rtt.measured {
			h.order = append(h.order, protocol.Rank(i))
		}
	}
	slices.SortFunc(h.order, func(a, b protocol.Rank) int {
		if d := of(&h.voters[a]) - of(&h.voters[b]); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return int(a) - int(b)
	})
	var s protocol.Set
	for _, r := range h.order {
		s.Add(r)
		if h.policy.Complete(s) {
			return of(&h.voters[r]), true
		}
	}
	return 0, false
}
