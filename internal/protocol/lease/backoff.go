package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file slows retries down where round trips take longer than Config.RoundTrip. A holder that repeats its requests faster than they can be
// answered keeps a slow network slow. A candidate that takes a late answer for none gives up attempts that would succeed.
//
//	measured    the p99 of the round trips to a voter, matched by the number of the request, of the last 10 to 20 seconds
//	slow-down   zero if that is at most RoundTrip; otherwise twice of it, but at most a quarter of the lease
//	applies to  the patience with a request, how long an attempt may take, and, by Holder.SlowDown, the pause after it
//	not to      a member that leads anything, the first FreeTries, and the rounds of an attempt: they renew the lease that the attempt is after
//
// A voter that does not make a promise, because it has made as many as it may or because the request is too old for that one, is asked again at once
// for FreeTries. After that it counts as one that refuses: a leader asks it again with the next renewal, and a candidate with its next attempt.

// FreeTries is how many tries are made before those that follow are slowed down.
const FreeTries = 2

// slowDown returns by how much retries are slowed down for leases of a length, if one round trip in a hundred exceeds p99.
func (c *Config) slowDown(p99, length time.Duration) time.Duration {
	if p99 <= c.patience() {
		return 0
	}
	if length == 0 {
		length = c.Lease
	}
	return min(2*p99, length/4)
}

// pace is how long after a round the next one follows. It is Renew where leases outlast a round trip and that. Where they do not, a leader that
// renewed as seldom would lose its lease between the answers to two renewals that both came: it renews more often there, up to mostHaste times.
func (h *Holder) pace() time.Duration {
	least, late := h.cfg.Renew/mostHaste, false
	for i := range h.voters {
		late = late || h.voters[i].late > 0
	}
	if !late {
		return h.cfg.Renew
	}
	pace := h.cfg.Renew
	for _, c := range h.classes {
		if h.every(c.length) > 1 {
			continue
		}
		if trip, ok := h.quorumTrip(func(v *voter) time.Duration { return v.rtt.p99(h.now) }); ok {
			if spare := h.cfg.hold(h.delta(c.length)) - trip; spare > least { // or it cannot keep the lease anyway
				pace = min(pace, max(spare-least, least))
			}
		}
	}
	return pace
}

// mostHaste is how many times as often as usual a leader renews at most.
const mostHaste = 4

// patience is how long an answer is waited for, before its request counts as lost, where round trips are as they should be.
func (c *Config) patience() time.Duration { return c.Rho.WaitAtLeast(c.RoundTrip) }

// SlowDown returns by how much attempts to lead with leases of the given length are slowed down: by the round trip to the quickest quorum. A
// voter whose last answer came in time slows nothing down.
func (h *Holder) SlowDown(length time.Duration) time.Duration {
	p99, ok := h.quorumTrip(func(v *voter) time.Duration {
		if v.late == 0 {
			return 0
		}
		return v.rtt.p99(h.now)
	})
	if !ok {
		return 0
	}
	return h.cfg.slowDown(p99, length)
}

// slow returns by how much requests to a voter are slowed down. Those that renew leases are not: each may be the one that is in time.
func (h *Holder) slow(v *voter) time.Duration {
	if v.late < FreeTries || len(h.classes) > 0 {
		return 0
	}
	return h.cfg.slowDown(v.rtt.p99(h.now), 0)
}

// patience is how long an answer of a voter is waited for before its request counts as lost.
func (h *Holder) patience(v *voter) time.Duration { return h.cfg.patience() + h.slow(v) }

// A probe is the request by whose answer the round trip to a voter is measured even if nothing else waits for that answer any more.
type probe struct {
	seq   uint64 // zero: none
	start protocol.Time
}

// sends notes that a request leaves.
func (v *voter) sends(now protocol.Time, seq uint64) {
	if v.probe.seq == 0 {
		v.probe = probe{seq, now}
	}
}

// measure takes the round trip of a request that was answered, whatever the answer is. One that has overtaken the probe ends it: the probe may be
// lost. A flight that was given up is measured by the probe alone.
func (h *Holder) measure(now protocol.Time, v *voter, seq uint64, f *flight) {
	p := v.probe
	if seq >= p.seq {
		v.probe = probe{}
	}
	var trip time.Duration
	switch {
	case f != nil:
		trip = now.Sub(f.start)
	case seq == p.seq:
		trip = now.Sub(p.start)
	default:
		return
	}
	v.rtt.add(now, trip)
	if trip <= h.cfg.patience() {
		v.late = 0
	} else if f == nil || !f.overdue {
		v.tried()
	}
}

// tried notes that a request was not answered in time.
func (v *voter) tried() { v.late = min(v.late+1, FreeTries) }

// askLater claims once more what a voter has not looked at.
func (h *Holder) askLater(now protocol.Time, r protocol.Rank, f *flight, length time.Duration) {
	for _, t := range f.claims {
		switch {
		case h.tenures[t.group] != t || t.length.nominal != length || t.bids == nil || t.bids[r].state != flying:
		case h.voters[r].omitted < FreeTries:
			h.queue(t, r)
		default:
			h.refused(t, r, now.Add(h.cfg.Renew))
			t.bids[r].led = 0
			h.hopeless(now, t)
		}
	}
}

// omits notes whether an answer left out a promise.
func (v *voter) omits(yes bool) {
	if yes {
		v.omitted = min(v.omitted+1, FreeTries)
	} else {
		v.omitted = 0
	}
}
