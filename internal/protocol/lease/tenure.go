package lease

import (
	"maps"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A tenure is one attempt to lead one group and, if it succeeds, the leadership.
type tenure struct {
	group  protocol.Group
	number uint64
	// length is that of the promises that it rests on. Invariant: it never changes.
	length *length
	// term is what is claimed where nothing else is known, and highest is the highest that any claim bore.
	term, highest uint64
	// token is the term of the first completion; zero before it.
	token  uint64
	quorum stamp.Quorum
	// epoch is the configuration of the first completion. Invariant: it never changes, and stamps bear it.
	epoch uint64
	start protocol.Time
	asked protocol.Set // voters that were sent a claim
	// bids says how each voter stands to the group; nil once all back it.
	bids []bid
	// candidates have said that they would lead the group if they could.
	candidates protocol.Set
	// joined are those of them that have begun to since this tenure did, or since no leader was told.
	joined protocol.Set

	class      *class // whose horizon bounds the lease; nil before the first completion and after freezing
	horizon    protocol.HorizonID
	prev, next *tenure
	// until caps the lease: Never unless it is frozen.
	until protocol.Time
	// verified is V: what was promised to those who asked for proof. The member does not step down before.
	verified protocol.Time
	// stopping tenures wait for their program, stopped ones only for verified. heir is who shall lead next; cause is why.
	stopping, stopped bool
	heir              protocol.Rank
	cause             protocol.Cause
	due               protocol.Time // of its entry on the agenda
	index             int           // in trying
}

// A bid is how one voter stands to one group.
type bid struct {
	state bidState
	term  uint64 // last claimed there
	// led is the first request that claimed the group as its leader; zero if there was none. Once it or a later one is
	// answered the voter knows who leads.
	led uint64
	at  protocol.Time // the voter's clock at its acknowledgement
	// until is when a refusal may be over; leader says that it was for the sake of a leader, which will not give way sooner.
	until  protocol.Time
	leader bool
}

type bidState uint8

const (
	idle     bidState = iota // nothing was asked
	queued                   // waits to be sent
	flying                   // was sent
	backed                   // the voter has assigned the group, and knows that it is led if it is
	rejected                 // the voter refused; asked again with the next renewal
)

func (t *tenure) leads() bool { return t.token != 0 }

// end returns E of a leading tenure.
func (t *tenure) end() protocol.Time {
	if t.class == nil {
		return t.until
	}
	return t.class.until
}

// openBids gives a tenure that all voters backed its bids back.
func (t *tenure) openBids(h *Holder, backers protocol.Set) {
	if t.bids != nil {
		return
	}
	t.bids = make([]bid, h.cfg.Members)
	for i := range t.bids {
		t.bids[i].term = t.term
		if backers.Has(protocol.Rank(i)) {
			t.bids[i].state = backed
		}
	}
}

// Attempts returns how many attempts are under way.
func (h *Holder) Attempts() int { return len(h.trying) }

// Try begins an attempt to lead the group with leases of the given length, unless one is on its way. It does nothing if
// there is no room for another length.
func (h *Holder) Try(now protocol.Time, group protocol.Group, nominal time.Duration) {
	if h.tenures[group] != nil || !h.Room(nominal) {
		return
	}
	h.number++
	t := &tenure{
		group: group, number: h.number, length: h.use(now, nominal), start: now, until: protocol.Never, due: protocol.Never, heir: protocol.Nobody,
		bids: make([]bid, h.cfg.Members), index: len(h.trying),
	}
	h.tenures[group] = t
	h.trying = append(h.trying, t)
	h.schedule(t, now.Add(h.cfg.hold(h.tryFor(t.length))))
	h.scouting++
	h.claimScouted(now)
	if h.renew == protocol.Never || h.quiet > 1 {
		h.renew = now // nobody was asked for a while: ask those too that did not answer then
	}
	h.soon(now)
}

// propose claims the group everywhere with a term above all that is known of it.
func (h *Holder) propose(now protocol.Time, t *tenure) {
	t.term = h.grantor.Known(now, t.group) + 1
	t.highest = t.term
	h.grantor.propose(now, t.group, t.term)
	for r := range t.bids {
		t.bids[r].term = t.term
		h.queue(t, protocol.Rank(r))
	}
	h.out.Facts = append(h.out.Facts, protocol.Fact{Ev: protocol.EvAttempt, Dom: h.cfg.Domain, Group: t.group, Tenure: t.number,
		Term: t.term, Start: t.start, Length: t.length.nominal})
}

func (h *Holder) schedule(t *tenure, at protocol.Time) {
	t.due = at
	if at != protocol.Never {
		h.agenda.Add(at, t.group, t)
	}
}

// result takes a voter's answer to one claim.
func (h *Holder) result(now protocol.Time, r protocol.Rank, m *OK, res *Result) {
	h.grantor.See(now, res.Group, res.Known)
	t := h.tenures[res.Group]
	if t == nil {
		return
	}
	h.candidate(t, r, res.Candidate)
	if res.Joined {
		h.Joined(res.Group, r)
	}
	if t.bids == nil || t.bids[r].term != res.Term || t.bids[r].state == idle || m.gen(t.length.nominal) != t.length.by[r].gen {
		return // an answer to what is no longer asked, or within a promise that is over
	}
	switch res.Code {
	case Granted:
		h.acknowledged(now, t, r, m)
	case Low:
		h.outbid(now, t, r)
	default:
		h.refused(t, r, now.Add(h.grantor.bound(now, res)))
		t.bids[r].led = 0
		t.bids[r].leader = res.Token != 0
		h.hopeless(now, t)
	}
}

func (h *Holder) acknowledged(now protocol.Time, t *tenure, r protocol.Rank, m *OK) {
	b := &t.bids[r]
	b.at = m.At
	if !t.leads() {
		b.state = backed
		h.complete(now, t)
		return
	}
	if b.led != 0 && m.Seq >= b.led {
		b.state = backed
	}
	if c := t.class; c != nil && !c.backers.Has(r) {
		h.join(t, c.backers.With(r), c.until)
		h.moved(t)
	}
	t.closeBids(&h.cfg.Absent)
}

// closeBids forgets the bids of a leader once there is nothing left to ask for.
func (t *tenure) closeBids(absent *protocol.Set) {
	for i := range t.bids {
		if t.bids[i].state != backed && !absent.Has(protocol.Rank(i)) {
			return
		}
	}
	t.bids = nil
}

// complete makes a tenure lead once enough voters back it.
func (h *Holder) complete(now protocol.Time, t *tenure) {
	var backers protocol.Set
	for i := range t.bids {
		// What a voter that broke its promise or restarted had acknowledged is no longer backed: lose saw to that.
		if t.bids[i].state == backed && t.length.by[i].end > now {
			backers.Add(protocol.Rank(i))
		}
	}
	if !h.policy.Complete(backers) {
		return
	}
	t.token, t.epoch = t.term, h.cfg.Epoch
	t.quorum = make(stamp.Quorum, 0, backers.Len())
	for r := range backers.All() {
		t.quorum = append(t.quorum, stamp.Entry{Voter: uint16(r), Inc: uint64(h.voters[r].inc), Clock: int64(t.bids[r].at)})
	}
	h.dropTrying(t)
	h.schedule(t, protocol.Never)
	h.join(t, backers, 0)
	for i := range t.bids {
		if s := t.bids[i].state; s == backed || s == flying {
			h.queue(t, protocol.Rank(i)) // once more, with the token: from it the voter learns who leads
		}
	}
	h.stateLease(now, t, "")
	h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Gained,
		Cause: protocol.Cause{Code: protocol.Elected, Peer: h.me.Rank}})
}

func (h *Holder) dropTrying(t *tenure) {
	last := h.trying[len(h.trying)-1]
	h.trying[t.index], last.index = last, t.index
	h.trying = h.trying[:len(h.trying)-1]
	if t.scouts() {
		h.scouting--
	}
}

func (h *Holder) stateLease(now protocol.Time, t *tenure, why string) {
	f := protocol.Fact{Ev: protocol.EvLease, Dom: h.cfg.Domain, Group: t.group, Tenure: t.number, Term: t.token, Start: t.start,
		Until: t.end(), At: now, Gen: t.epoch, Detail: t.quorum, Why: why, Length: t.length.nominal}
	if t.class != nil {
		f.Seq, f.Members = uint64(t.class.id), t.class.backers
	}
	h.out.Facts = append(h.out.Facts, f)
}

func (h *Holder) moved(t *tenure) {
	h.stateLease(h.now, t, "moved")
	h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Moved, Cause: protocol.Cause{Code: protocol.Elected, Peer: h.me.Rank}})
}

// outbid acts on a term that was too low. A candidate begins anew above what it learned, for all its acknowledgements
// have to bear one term; a leader asks that voter alone, and its token stays.
func (h *Holder) outbid(now protocol.Time, t *tenure, r protocol.Rank) {
	if !t.leads() {
		h.propose(now, t)
		return
	}
	b := &t.bids[r]
	b.term = h.grantor.Known(now, t.group) + 1
	t.highest = max(t.highest, b.term)
	h.grantor.propose(now, t.group, b.term)
	h.queue(t, r)
}

// refused notes that the voter will not have it before until, as far as it knows.
func (h *Holder) refused(t *tenure, r protocol.Rank, until protocol.Time) {
	b := &t.bids[r]
	if b.state != rejected {
		h.voters[r].refused = append(h.voters[r].refused, t)
	}
	b.state, b.until = rejected, until
}

// hopeless ends an attempt that refusals have already decided, so that what was granted is free again soon (E-N9).
func (h *Holder) hopeless(now protocol.Time, t *tenure) bool {
	if t.leads() || t.scouts() {
		return false
	}
	if busy, _, _ := h.blocked(t); busy {
		h.fail(now, t)
		return true
	}
	return false
}

// blocked says whether refusals keep the attempt from succeeding, when that may be over, and whether a leader stands
// behind it. Voters that did not answer in time count as refusals where there are others: two candidates that wait for
// the same dead voter, each with half of the rest, would wait in turns for ever. Those that are proven dead count at once.
func (h *Holder) blocked(t *tenure) (busy bool, retry protocol.Time, led bool) {
	open, some := protocol.Everyone(h.cfg.Members), false
	for i := range t.bids {
		switch r := protocol.Rank(i); {
		case t.bids[i].state == rejected:
			open.Remove(r)
			some = true
		case h.gone(r):
			open.Remove(r)
			t.bids[i].until = h.now.Add(h.cfg.Lease) // it may have started again by then
		}
	}
	heard := open
	for i := range t.bids {
		if s := t.bids[i].state; h.voters[i].silent && (s == queued || s == flying) {
			heard.Remove(protocol.Rank(i))
		}
	}
	busy = some && !h.policy.Complete(heard)
	for !h.policy.Complete(open) {
		next := protocol.Nobody
		for i := range t.bids {
			r := protocol.Rank(i)
			if !open.Has(r) && (next == protocol.Nobody || t.bids[i].until < t.bids[next].until) {
				next = r
			}
		}
		open.Add(next)
		retry, led = t.bids[next].until, led || t.bids[next].leader
	}
	return busy, retry, led
}

// fail ends an attempt.
func (h *Holder) fail(now protocol.Time, t *tenure) {
	busy, retry, led := h.blocked(t)
	h.unansweredSince(t.start, now)
	why := "silence"
	if busy {
		why = "busy"
	}
	h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Failed, Busy: busy, Led: led, Retry: retry, Start: t.start})
	h.end(now, t, why, protocol.Cause{}, protocol.Nobody)
}

// end is the one way out of a tenure: it demotes first, forgets every acknowledgement, and only then releases.
func (h *Holder) end(now protocol.Time, t *tenure, why string, cause protocol.Cause, heir protocol.Rank) {
	delete(h.tenures, t.group)
	t.length.tenures--
	if t.leads() {
		h.out.Facts = append(h.out.Facts, protocol.Fact{Ev: protocol.EvStepdown, Dom: h.cfg.Domain, Group: t.group,
			Tenure: t.number, Term: t.token, Until: t.end(), At: now, Why: why})
		h.leave(t)
		h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Lost, Cause: cause, Heir: heir, Term: t.highest})
	} else {
		h.dropTrying(t)
		if t.scouts() {
			return // it has asked for nothing
		}
		h.out.Facts = append(h.out.Facts, protocol.Fact{Ev: protocol.EvFail, Dom: h.cfg.Domain, Group: t.group,
			Tenure: t.number, Term: t.highest, Why: why})
	}
	t.bids, t.due = nil, protocol.Never
	asked := cause.Code == protocol.Transferred || cause.Code == protocol.Balanced
	h.releaseTo(Release{Group: t.group, Of: h.me, Term: t.highest, To: heir, Asked: asked}, t.asked)
}

// Resign asks for the end of a leadership, in favour of heir if that is not Nobody. The lease is renewed until the
// program has stopped; if it has not by then, the lease runs out. An attempt ends at once.
func (h *Holder) Resign(now protocol.Time, group protocol.Group, heir protocol.Rank, by protocol.Time, cause protocol.Cause) {
	t := h.tenures[group]
	switch {
	case t == nil:
	case !t.leads():
		h.end(now, t, "ended", cause, protocol.Nobody)
	case t.stopping:
		if heir != protocol.Nobody {
			t.heir, t.cause = heir, cause
		}
	default:
		t.stopping, t.heir, t.cause = true, heir, cause
		if t.class != nil {
			h.schedule(t, by)
		}
	}
}

// Stopped says that the program has stopped. If nobody asked it to, it stopped by itself: that is a resignation. If
// nobody was named to lead next, heir is.
func (h *Holder) Stopped(now protocol.Time, group protocol.Group, heir protocol.Rank) {
	t := h.tenures[group]
	if t == nil || !t.leads() {
		return
	}
	if !t.stopping {
		t.stopping, t.cause = true, protocol.Cause{Code: protocol.Resigned, Peer: h.me.Rank}
	}
	if t.heir == protocol.Nobody {
		t.heir = heir
	}
	t.stopped = true
	h.demote(now, t)
}

// demote ends a stopped tenure, as soon as nobody has proof any more that it leads (E-N4).
func (h *Holder) demote(now protocol.Time, t *tenure) {
	if now < t.verified {
		h.schedule(t, min(t.verified, t.until))
		return
	}
	h.end(now, t, "resigned", t.cause, t.heir)
}

// freeze lets a lease run out: renewals no longer move its end.
func (h *Holder) freeze(now protocol.Time, t *tenure) {
	if t.class == nil {
		return
	}
	t.until, t.bids = t.class.until, nil
	h.leave(t)
	h.schedule(t, t.until)
	h.stateLease(now, t, "frozen")
}

// Lapse lets the lease of one tenure run out, because its program may still act and cannot be made to stop.
func (h *Holder) Lapse(now protocol.Time, group protocol.Group, number uint64, cause protocol.Cause) {
	t := h.tenures[group]
	if t == nil || t.number != number || t.class == nil || t.stopped {
		return
	}
	if !t.stopping {
		t.stopping, t.cause = true, cause
	}
	h.freeze(now, t)
	h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Overdue, Cause: t.cause})
}

// Freeze lets every lease run out and asks nobody for anything any more. The holder is of no use after it before it is
// reset.
func (h *Holder) Freeze(now protocol.Time, cause protocol.Cause) {
	h.renew = protocol.Never
	for len(h.trying) > 0 {
		h.end(now, h.trying[0], "ended", cause, protocol.Nobody)
	}
	for len(h.classes) > 0 {
		t := h.classes[0].first
		t.stopping, t.cause = true, cause
		h.freeze(now, t)
		h.outcomes = append(h.outcomes, Outcome{Group: t.group, What: Overdue, Cause: cause})
	}
}

// Void ends every lease and every attempt at once, because the clock by which they would run out cannot be believed. The holder must be reset
// then: what it would release may have been gained again.
func (h *Holder) Void(now protocol.Time, cause protocol.Cause) {
	h.renew = protocol.Never
	for _, g := range slices.Sorted(maps.Keys(h.tenures)) {
		h.end(now, h.tenures[g], "ended", cause, protocol.Nobody)
	}
}

// Verify answers who asks whether this member leads the group: for how much real time more it surely will, but no longer
// than wanted, for the answer binds it.
func (h *Holder) Verify(now protocol.Time, group protocol.Group, wanted time.Duration) (time.Duration, uint64) {
	t := h.tenures[group]
	if t == nil || !t.leads() || t.stopping || now >= t.end() {
		return 0, 0
	}
	left := min(wanted, h.cfg.Rho.RealAtLeast(t.end().Sub(now)))
	if left <= 0 {
		return 0, 0
	}
	t.verified = max(t.verified, now.Add(h.cfg.Rho.WaitAtLeast(left)))
	h.proved = max(h.proved, t.verified)
	return left, t.token
}

// Proved returns the instant until which a proof of any leadership may be believed that was given here.
func (h *Holder) Proved() protocol.Time { return h.proved }

// Tries says whether an attempt to lead the group is on its way or has succeeded.
func (h *Holder) Tries(group protocol.Group) bool { return h.tenures[group] != nil }

// Active says whether anything is led or tried, and Releasing whether a release is still unanswered.
func (h *Holder) Active() bool { return len(h.tenures) > 0 }

// Releasing says whether some voter has not yet answered a release.
func (h *Holder) Releasing() bool { return len(h.releases) > 0 }

// Releases says whether a release of the group is still unanswered.
func (h *Holder) Releases(group protocol.Group) bool {
	return h.releases[releaseKey{group, h.me}] != nil
}
