package lease

import (
	"github.com/regentproject/regent/internal/protocol"
)

const (
	// A request carries at most this many claims and releases, and stops at this many bytes of them, so that it fits a
	// datagram: what does not fit goes in the next one at once.
	maxParts = 64
	maxBytes = 1000
	// window is how many requests may be on their way to one voter.
	window = 16
	// maxQuiet is how often the interval doubles while nothing but releases are left to say.
	maxQuiet = 4
	// partSize is about what a claim or release takes besides the group's name.
	partSize = 16
	// askSize is about what the promise of one more length takes in a request.
	askSize = 16
)

type releaseKey struct {
	group protocol.Group
	of    protocol.Ident
}

// A release is repeated to each voter until it has answered a request that carried it.
type release struct {
	Release
	wants protocol.Set // voters that have not answered yet
}

// releaseTo sends a release to voters until they answer.
func (h *Holder) releaseTo(rel Release, voters protocol.Set) {
	voters = voters.Minus(h.cfg.Absent)
	if voters.Empty() {
		return
	}
	key := releaseKey{rel.Group, rel.Of}
	r := &release{Release: rel, wants: voters}
	if old := h.releases[key]; old != nil {
		// What is on its way says less than this one: an answer to it is none to this.
		r.Term, r.wants = max(rel.Term, old.Term), voters.Union(old.wants)
		old.wants = protocol.Set{}
	}
	h.releases[key] = r
	for v := range r.wants.All() {
		h.voters[v].releases = append(h.voters[v].releases, r)
	}
}

// Carry takes over the release of a predecessor that named this member as its heir.
func (h *Holder) Carry(rel Release) { h.releaseTo(rel, h.cfg.present()) }

func (h *Holder) answered(r *release, by protocol.Rank) {
	r.wants.Remove(by)
	key := releaseKey{r.Group, r.Of}
	if r.wants.Empty() && h.releases[key] == r {
		delete(h.releases, key)
	}
}

func (h *Holder) requeue(v *voter, by protocol.Rank, rs []*release) {
	for _, r := range rs {
		if r.wants.Has(by) {
			v.releases = append(v.releases, r)
		}
	}
}

// queue puts a claim into the voter's next request.
func (h *Holder) queue(t *tenure, r protocol.Rank) {
	if h.cfg.Absent.Has(r) {
		return
	}
	if t.bids[r].state != queued {
		h.voters[r].claims = append(h.voters[r].claims, t)
	}
	t.bids[r].state = queued
}

// waits says whether a queued claim is still wanted.
func (h *Holder) waits(t *tenure, r protocol.Rank) bool {
	if h.tenures[t.group] != t || t.bids == nil {
		return false
	}
	return t.bids[r].state == queued
}

// overdue gives up the requests that can no longer be of use and queues again what unanswered ones carried.
func (h *Holder) overdue(now protocol.Time) {
	h.retry = protocol.Never
	late := false
	for i := range h.voters {
		v, r := &h.voters[i], protocol.Rank(i)
		for j := 0; j < len(v.flights); j++ {
			f := &v.flights[j]
			at := f.start.Add(h.patience(v))
			if now >= at && !f.overdue {
				f.overdue, v.silent = true, true
				v.tried()
				h.again(r, f)
				late = true
			}
			gone := f.start.Add(h.cfg.holdUnder(f.rho, f.longest()))
			if now >= gone {
				v.take(f.seq)
				j--
				continue
			}
			if f.overdue {
				at = gone
			}
			h.retry = min(h.retry, at)
		}
	}
	if late && len(h.tenures) > 0 {
		h.soon(now)
	}
	for i := 0; late && i < len(h.trying); {
		if t := h.trying[i]; !h.hopeless(now, t) {
			i++
		}
	}
}

// again queues what an unanswered request carried. The flight keeps its releases: a late answer says that they were heard, and where round trips take
// longer than patience there is no other.
func (h *Holder) again(r protocol.Rank, f *flight) {
	for _, t := range f.claims {
		if h.tenures[t.group] == t && t.bids != nil && t.bids[r].state == flying {
			h.queue(t, r)
		}
	}
	h.requeue(&h.voters[r], r, f.releases)
	f.claims = f.claims[:0]
}

// Flush ends a Step: it sends the requests that are due.
func (h *Holder) Flush(now protocol.Time) {
	if !h.unanswered() {
		h.retry = protocol.Never // or the holder would be woken up for nothing after each renewal
	}
	h.claimScouted(now)
	busy := len(h.tenures) > 0
	if !busy && len(h.releases) == 0 {
		h.renew = protocol.Never
		for i := range h.voters {
			h.voters[i].claims, h.voters[i].releases = h.voters[i].claims[:0], h.voters[i].releases[:0]
		}
		return
	}
	due := now >= h.renew
	if due {
		h.unite()
	}
	round := due && h.markDue(now)
	for i := range h.voters {
		v, r := &h.voters[i], protocol.Rank(i)
		if h.cfg.Absent.Has(r) {
			continue
		}
		if due {
			h.askAgain(v, r)
			if round || len(v.releases) > 0 || len(h.trying) > 0 && h.pending(v, r) || h.scouting > 0 && v.outOfReach(now) {
				h.send(now, v, r)
			}
		}
		for !v.silent && len(v.flights) < window && h.pending(v, r) {
			h.send(now, v, r)
		}
	}
	if h.brisk() {
		h.quiet = 0
	}
	if due || h.renew == protocol.Never {
		h.renew = h.nextRound(now)
		h.quiet++
	}
	h.unmark(now)
}

// Mute ends a Step of a member that may not speak: no request is due before it may.
func (h *Holder) Mute() { h.renew = protocol.Never }

// unanswered says whether a voter owes an answer.
func (h *Holder) unanswered() bool {
	for i := range h.voters {
		if len(h.voters[i].flights) > 0 {
			return true
		}
	}
	return false
}

// askAgain queues the claims of leaders that the voter refused. Those of candidates stay as they are: refusals end an
// attempt, or are outvoted.
func (h *Holder) askAgain(v *voter, r protocol.Rank) {
	keep := v.refused[:0]
	for _, t := range v.refused {
		switch {
		case h.tenures[t.group] != t || t.bids == nil || t.bids[r].state != rejected:
		case t.leads():
			h.queue(t, r)
		default:
			keep = append(keep, t)
		}
	}
	clear(v.refused[len(keep):])
	v.refused = keep
}

// pending says whether anything waits for the voter, and forgets what does no longer.
func (h *Holder) pending(v *voter, r protocol.Rank) bool {
	n := 0
	for n < len(v.claims) && !h.waits(v.claims[n], r) {
		n++
	}
	v.claims = drop(v.claims, n)
	n = 0
	for n < len(v.releases) && !v.releases[n].wants.Has(r) {
		n++
	}
	v.releases = drop(v.releases, n)
	return len(v.claims)+len(v.releases) > 0
}

// drop takes the first n off a queue, whose memory is used again.
func drop[T any](q []T, n int) []T {
	if n == 0 {
		return q
	}
	left := copy(q, q[n:])
	clear(q[left:])
	return q[:left]
}

// send sends one request to one voter, with as much of what waits for it as fits.
func (h *Holder) send(now protocol.Time, v *voter, r protocol.Rank) {
	if len(v.flights) >= 2*window {
		if !v.flights[0].overdue {
			h.again(r, &v.flights[0])
		}
		v.take(v.flights[0].seq)
	}
	h.seq++
	m := protocol.Make[Request](h.out)
	*m = Request{Epoch: h.cfg.Epoch, Digest: h.cfg.Digest, Seq: h.seq, Claims: m.Claims[:0], Releases: m.Releases[:0],
		More: m.More[:0], Wish: h.wish()}
	if h.cfg.Skew != nil {
		m.Start = h.cfg.Skew.At(now)
	}
	f := v.depart()
	f.seq, f.start, f.rho = h.seq, now, h.cfg.Rho
	size := h.packReleases(m, f, v, r, askSize*(len(h.lengths)-1))
	h.packClaims(m, f, v, r, size)
	h.packAsks(m, f)
	v.sends(now, h.seq)
	h.retry = min(h.retry, now.Add(h.patience(v)))
	h.out.Send = append(h.out.Send, protocol.Envelope{To: r, Message: m})
}

func (h *Holder) packReleases(m *Request, f *flight, v *voter, r protocol.Rank, size int) int {
	n := 0
	for ; n < len(v.releases) && len(m.Releases) < maxParts && size < maxBytes; n++ {
		rel := v.releases[n]
		if rel.wants.Has(r) {
			m.Releases = append(m.Releases, rel.Release)
			f.releases = append(f.releases, rel)
			size += len(rel.Group) + partSize
		}
	}
	v.releases = drop(v.releases, n)
	return size
}

func (h *Holder) packClaims(m *Request, f *flight, v *voter, r protocol.Rank, size int) {
	n := 0
	for ; n < len(v.claims) && len(m.Claims) < maxParts && size < maxBytes; n++ {
		t := v.claims[n]
		if !h.waits(t, r) {
			continue
		}
		b := &t.bids[r]
		b.state = flying
		if t.leads() && b.led == 0 {
			b.led = m.Seq
		}
		t.asked.Add(r)
		m.Claims = append(m.Claims, Claim{Group: t.group, Tenure: t.number, Term: b.term, Token: t.token, Length: t.length.nominal})
		t.length.claimed = m.Seq
		f.claims = append(f.claims, t)
		size += len(t.group) + partSize
	}
	v.claims = drop(v.claims, n)
}

// depart returns a new flight, made of an old one where there is one.
func (v *voter) depart() *flight {
	n := len(v.flights)
	if n < cap(v.flights) {
		v.flights = v.flights[:n+1]
	} else {
		v.flights = append(v.flights, flight{})
	}
	f := &v.flights[n]
	*f = flight{claims: f.claims[:0], releases: f.releases[:0], asks: f.asks[:0]}
	return f
}
