package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Holder is the leading half of a member: it asks for groups, and knows until when it has them.
type Holder struct {
	cfg     *Config
	policy  Policy
	out     *protocol.Effects // of the present Step
	terms   *Terms
	grantor *Grantor // of the same member, which remembers the terms of its groups

	me  protocol.Ident
	now protocol.Time // of the present Step
	// seq and tenures number this incarnation's requests and its attempts to lead.
	seq, number uint64
	voters      []voter
	// lengths has the promises that are asked for, by their lengths; that of length 0 is the first, and always there.
	lengths  []*length
	tenures  map[protocol.Group]*tenure
	trying   []*tenure
	scouting int // how many of trying scout
	releases map[releaseKey]*release
	classes  []*class
	horizon  protocol.HorizonID
	agenda   Agenda[*tenure]
	// renew is when all voters are asked again; Never if there is nothing to ask for.
	renew protocol.Time
	// quiet counts the renewals since the last tenure: only releases are left, and they are repeated ever more slowly.
	quiet int
	// retry is no later than the first instant at which an unanswered request is given up or repeated.
	retry protocol.Time
	// proved is the latest instant until which a proof may be believed. Invariant: it never falls, whatever became of the leadership.
	proved   protocol.Time
	outcomes []Outcome
	// joined says that a candidate has joined since TakeJoined.
	joined bool
	order  []protocol.Rank // scratch
}

// A voter is what the holder knows of one voter.
type voter struct {
	inc protocol.Inc // Invariant: it never falls
	// claims and releases wait to be sent; refused are the claims to be made again with the next renewal.
	claims   []*tenure
	refused  []*tenure
	releases []*release
	flights  []flight
	// silent voters did not answer the last request in time. They are asked once per renewal.
	silent bool
	rtt    roundTrips
	probe  probe
	// heard is when it last answered anything, deaf says that an attempt has failed since for want of its answer, and shut is until when it looks at no request:
	// see scout.go.
	heard, shut protocol.Time
	deaf        bool
	// late counts the requests in a row that were not answered within Config.RoundTrip, and omitted the answers in a row that left out a promise
	// that was asked for. Both end at FreeTries.
	late, omitted int
	wish          time.Duration // the longest lease that its programs want, as far as it has said
}

// A flight is a request on its way. Each is judged by its own start.
type flight struct {
	seq      uint64
	start    protocol.Time
	asks     []Ask // that of length 0 among them
	rho      protocol.Rho
	overdue  bool // what it carried was queued again; it has no claims then
	claims   []*tenure
	releases []*release
}

// An Outcome is something that happened to a group of the holder and that its user has to act on.
type Outcome struct {
	Group protocol.Group
	What  What
	// Cause is the reason of a change.
	Cause protocol.Cause
	// Start is when a failed attempt began. Busy says that refusals explain it, Led that some were for the sake of a leader,
	// and Retry is when they may be over.
	Start     protocol.Time
	Busy, Led bool
	Retry     protocol.Time
	// Heir is who was named as the next when a leadership was given up, and Term bounds what was released.
	Heir protocol.Rank
	Term uint64
}

// What is the kind of an outcome.
type What uint8

const (
	Gained  What = iota // the member leads
	Moved               // it still leads, but its lease lies behind another horizon or has a set end
	Lost                // it leads no more
	Failed              // an attempt came to nothing
	Overdue             // the program did not stop in time: the lease runs out
)

// NewHolder returns a holder that holds nothing. It is of no use before Reset gives it its incarnation.
func NewHolder(cfg *Config, policy Policy, terms *Terms, grantor *Grantor) *Holder {
	h := &Holder{cfg: cfg, policy: policy, terms: terms}
	h.Reset(0, grantor)
	return h
}

// Reset makes the holder speak as a new incarnation, which holds nothing and has released nothing. Tenures and horizons
// are numbered on, for readers of views know nothing of incarnations.
func (h *Holder) Reset(inc protocol.Inc, grantor *Grantor) {
	h.me = protocol.Ident{Rank: h.cfg.Me, Inc: inc}
	h.grantor, h.seq = grantor, 0
	h.voters = make([]voter, h.cfg.Members)
	h.lengths = []*length{h.newLength(0)}
	h.tenures = make(map[protocol.Group]*tenure)
	h.releases = make(map[releaseKey]*release)
	h.trying, h.classes, h.agenda = nil, nil, Agenda[*tenure]{}
	h.scouting = 0
	h.renew, h.retry = protocol.Never, protocol.Never
}

// TakeOutcomes returns what happened since it was last called. The slice is used again.
func (h *Holder) TakeOutcomes() []Outcome {
	o := h.outcomes
	h.outcomes = h.outcomes[:0]
	return o
}

// Next returns when the holder wants a Step.
func (h *Holder) Next() protocol.Time {
	at := min(h.renew, h.retry, h.agenda.Next())
	for _, c := range h.classes {
		at = min(at, c.until)
	}
	return at
}

// Begin starts a Step, whose effects go to out. Every lease whose end
// has come is over before anything else happens. No later answer revives it.
func (h *Holder) Begin(now protocol.Time, out *protocol.Effects) {
	h.now, h.out = now, out
	for i := 0; i < len(h.classes); {
		c := h.classes[i]
		if now < c.until {
			i++
			continue
		}
		for c.first != nil {
			h.end(now, c.first, "expired", protocol.Cause{Code: h.whyExpired(c), Peer: h.me.Rank}, protocol.Nobody)
		}
	}
	for {
		at, t, ok := h.agenda.Due(now)
		if !ok {
			break
		}
		if t.due == at && h.tenures[t.group] == t {
			t.due = protocol.Never
			h.onDue(now, t)
		}
	}
	if now >= h.retry {
		h.overdue(now)
	}
}

// whyExpired tells a lease that too few voters answered for from one that merely was not renewed.
func (h *Holder) whyExpired(c *class) protocol.CauseCode {
	silent := 0
	for r := range c.backers.All() {
		if h.voters[r].silent {
			silent++
		}
	}
	if silent > 0 {
		return protocol.NoQuorum
	}
	return protocol.LeaseExpired
}

// whyRanOut returns the cause for which the lease was left to run out. One that was to be handed over was not: it expired.
func (h *Holder) whyRanOut(t *tenure) protocol.Cause {
	if t.cause.Code == protocol.Transferred {
		return protocol.Cause{Code: protocol.LeaseExpired, Peer: h.me.Rank}
	}
	return t.cause
}

// onDue acts on the one thing that a tenure waits for besides its class.
func (h *Holder) onDue(now protocol.Time, t *tenure) {
	switch {
	case !t.leads():
		h.fail(now, t)
	case now >= t.until:
		h.end(now, t, "expired", h.whyRanOut(t), protocol.Nobody)
	case t.stopped:
		h.demote(now, t)
	case t.stopping:
		h.freeze(now, t)
		h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Overdue, Cause: t.cause})
	}
}

// OK takes a voter's answer. It returns how long the answer has taken, if it was still waited for.
func (h *Holder) OK(now protocol.Time, from protocol.Ident, m *OK) (trip time.Duration, ok bool) {
	h.terms.SeeFloor(m.Floor)
	v := &h.voters[from.Rank]
	f, ok := h.land(now, v, m.Asker, m.Seq)
	if !ok {
		return 0, false
	}
	v.silent, v.shut = false, 0
	trip = now.Sub(f.start)
	v.wish = m.Wish
	for _, r := range f.releases {
		h.answered(r, from.Rank)
	}
	if from.Inc < v.inc {
		return trip, true
	}
	if from.Inc > v.inc {
		h.restarted(from)
	}
	current, revived := h.kept(now, from.Rank, m, &f)
	if !current {
		return trip, true
	}
	for i := range m.Results {
		h.result(now, from.Rank, m, &m.Results[i])
	}
	h.extend(from.Rank)
	if revived {
		h.completeAll(now)
	}
	return trip, true
}

// kept takes note of the promises that an answer renews, each by itself. It says whether any of them is the latest of its
// length, and whether one could not be relied on before.
func (h *Holder) kept(now protocol.Time, r protocol.Rank, m *OK, f *flight) (current, revived bool) {
	omitted := false
	for _, a := range f.asks {
		l, gen := h.length(a.Length), m.gen(a.Length)
		if gen == 0 {
			omitted = true
			h.askLater(now, r, f, a.Length)
		}
		if l == nil || gen == 0 || gen < l.by[r].gen {
			continue
		}
		s := &l.by[r]
		was, end := s.end, f.start.Add(h.cfg.holdUnder(f.rho, a.Delta))
		if gen > s.gen {
			h.lose(r, l)
			s.gen, s.end, s.begun = gen, end, true
		}
		s.end = max(s.end, end)
		current, revived = true, revived || was <= now
	}
	h.voters[r].omits(omitted)
	return current, revived
}

// restarted notes that a voter has forgotten its promises of all lengths.
func (h *Holder) restarted(from protocol.Ident) {
	for _, l := range h.lengths {
		h.lose(from.Rank, l)
		l.by[from.Rank] = standing{}
	}
	h.voters[from.Rank].inc = from.Inc
}

// Nack takes a voter's refusal of a whole request.
func (h *Holder) Nack(now protocol.Time, from protocol.Ident, m *Nack) {
	h.terms.SeeFloor(m.Floor)
	v := &h.voters[from.Rank]
	f, ok := h.land(now, v, m.Asker, m.Seq)
	if !ok {
		return
	}
	v.silent = false
	if from.Inc > v.inc {
		h.restarted(from)
	}
	until := now.Add(m.Remaining)
	if m.Why != WhyStale && m.Remaining == 0 {
		until = now.Add(h.cfg.Lease)
	}
	if m.Why != WhyStale && m.Why != WhyLate {
		v.shut = until
	}
	for _, t := range f.claims {
		if h.tenures[t.group] != t || t.bids == nil {
			continue
		}
		b := &t.bids[from.Rank]
		switch {
		case b.state != flying:
		case m.Why == WhyStale:
			h.queue(t, from.Rank)
		default:
			h.refused(t, from.Rank, until)
			b.leader = true // it will not change its mind sooner
			h.hopeless(now, t)
		}
	}
	if !f.overdue { // or they were queued already
		h.requeue(v, from.Rank, f.releases)
	}
	if m.Why != WhyStale {
		v.silent = true // nothing but renewals until it takes one
	}
}

// land takes off the flight that an answer is about. An answer to another incarnation is about none, even if the layer below lets it
// through: each incarnation numbers its requests from 1 on. A flight that is not there was answered before or given up.
func (h *Holder) land(now protocol.Time, v *voter, asker protocol.Inc, seq uint64) (flight, bool) {
	if asker != h.me.Inc {
		return flight{}, false
	}
	v.heard, v.deaf = now, false
	f, ok := v.take(seq)
	if !ok {
		h.measure(now, v, seq, nil)
		return f, false
	}
	h.measure(now, v, seq, &f)
	return f, true
}

func (v *voter) take(seq uint64) (flight, bool) {
	for i := range v.flights {
		if v.flights[i].seq == seq {
			f := v.flights[i]
			last := len(v.flights) - 1
			copy(v.flights[i:], v.flights[i+1:])
			// The slices stay behind the end, to be used by the next flight. f is read before that.
			v.flights[last] = f
			v.flights = v.flights[:last]
			return f, true
		}
	}
	return flight{}, false
}

// lose notes that the voter has begun a new promise of one length or has restarted: it backs nothing of that length any
// more.
func (h *Holder) lose(r protocol.Rank, l *length) {
	for _, c := range h.classes {
		if c.length != l || !c.backers.Has(r) {
			continue
		}
		c.backers.Remove(r)
		for t := c.first; t != nil; t = t.next {
			t.openBids(h, c.backers)
			h.queue(t, r)
		}
	}
	for _, t := range h.trying {
		if t.length == l && t.bids[r].state == backed {
			h.queue(t, r)
		}
	}
}

// extend moves the horizons that the voter's new end moves.
func (h *Holder) extend(r protocol.Rank) {
	for _, c := range h.classes {
		if c.backers.Has(r) {
			h.advance(c)
		}
	}
}

func (h *Holder) completeAll(now protocol.Time) {
	for i := 0; i < len(h.trying); {
		t := h.trying[i]
		h.complete(now, t)
		if i < len(h.trying) && h.trying[i] == t {
			i++
		}
	}
}

// Knows says whether a member has acknowledged that this one leads the group, within the promise that the member keeps now.
func (h *Holder) Knows(group protocol.Group, r protocol.Rank) bool {
	t := h.tenures[group]
	return t != nil && t.leads() && (t.bids == nil || t.bids[r].state == backed)
}

// TakeBegun returns the groups that this member leads by promises that a voter has begun since it was last called. The voter may have
// forgotten all that it knew of them.
func (h *Holder) TakeBegun(r protocol.Rank) (groups []protocol.Group) {
	for _, l := range h.lengths {
		if !l.by[r].begun {
			continue
		}
		l.by[r].begun = false
		for _, c := range h.classes {
			for t := c.first; t != nil && c.length == l; t = t.next {
				groups = append(groups, t.group)
			}
		}
	}
	return groups
}

// Silent says whether a voter has left the last request unanswered, or refused it.
func (h *Holder) Silent(r protocol.Rank) bool { return h.voters[r].silent }
