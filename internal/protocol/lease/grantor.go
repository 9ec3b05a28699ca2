package lease

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Grantor is the voting half of a member: it gives its word, and keeps it.
type Grantor struct {
	cfg    *Config
	policy Policy
	out    *protocol.Effects // of the present Step
	terms  *Terms
	reach  *Reach

	// ready is when the voter may grant again after a restart; Never while that is not known.
	ready protocol.Time
	// closed voters grant nothing more.
	closed bool

	// wards has what was promised to each member's latest incarnation; nil where nothing was. old has the promises to
	// earlier ones that still stand.
	wards  []*ward
	old    []*promise
	groups map[protocol.Group]*entry
	// all lists the groups in no particular but reproducible order, so that sweeps can go round; hand is where they are.
	all  []*entry
	hand int
	// lapse is no later than the first instant at which a promise with assignments runs out.
	lapse protocol.Time
	// assigned counts the groups that are assigned to anybody.
	assigned int

	changes []Change
}

// A ward is one incarnation of one member, as a holder of this voter's promises.
type ward struct {
	to protocol.Ident
	// seq is the highest request that was taken, and gen the number of the promise that was begun last, of any length.
	// Invariant: neither ever falls.
	seq, gen uint64
	promises []*promise // one of each length
	// dead is since when the voter knows that the incarnation is dead; Never: it does not. Invariant: a dead one is granted nothing.
	dead protocol.Time
}

// A promise is this voter's word to one incarnation of one member, for one length.
type promise struct {
	to     protocol.Ident
	length time.Duration // names it
	// until is F. Invariant: it never falls while the clock is below it.
	until protocol.Time
	// gen numbers the unbroken promise and seq is the last request that renewed it. Invariant: neither ever falls. No two
	// promises to one ward have a number in common, so that one that was forgotten is not taken for its successor.
	gen, seq uint64
	first    *entry // the groups that are assigned, linked
}

// An entry is what the voter knows of one group.
type entry struct {
	group protocol.Group
	// to has the group, or is nil. Invariant: after lapses were noticed at the start of a Step, an entry with a promise
	// counts: the clock is below its end and its gen is that in which the group was assigned.
	to *promise
	// term is the highest that was accepted, and owner whose it is; nobody's after a release or a restart.
	term   uint64
	owner  protocol.Ident
	tenure uint64
	// held is the term of the claim by which to has the group. Another member's release may lift term above it; whether a
	// release is of this assignment is judged by held, or the holder could never release it.
	held uint64
	// token is not zero once the holder has said that it leads, and is its token.
	token uint64
	// seen is the highest term that this member has heard of or proposed, whether it was accepted or not.
	seen uint64
	// free is since when nobody has the group, and heir who was named as the next; reserved is until when the heir goes
	// first.
	free, reserved protocol.Time
	heir           protocol.Rank
	prev, next     *entry // in the promise's list
	index          int    // in all
}

// A Change says that who has a group, or who leads it, changed as this member sees it.
type Change struct {
	Group protocol.Group
	Cause protocol.Cause
}

// NewGrantor returns a voter that has promised nothing yet and that is not ready.
func NewGrantor(cfg *Config, policy Policy, terms *Terms, reach *Reach) *Grantor {
	return &Grantor{
		cfg: cfg, policy: policy, terms: terms, reach: reach,
		ready:  protocol.Never,
		wards:  make([]*ward, cfg.Members),
		groups: make(map[protocol.Group]*entry),
		lapse:  protocol.Never,
	}
}

// Wait makes the voter grant nothing before at. With Never it grants nothing until another call.
func (g *Grantor) Wait(at protocol.Time) { g.ready = at }

// Ready says whether the voter grants.
func (g *Grantor) Ready(now protocol.Time) bool { return now >= g.ready && !g.closed }

// Close makes the voter grant nothing from now on. What it granted stands until it lapses or is released.
func (g *Grantor) Close() { g.closed = true }

// Outstanding says whether anything that was granted still stands.
func (g *Grantor) Outstanding() bool { return g.assigned > 0 }

// Next returns when a promise with assignments may run out.
func (g *Grantor) Next() protocol.Time { return g.lapse }

// TakeChanges returns what changed since it was last called. The slice is used again.
func (g *Grantor) TakeChanges() []Change {
	c := g.changes
	g.changes = g.changes[:0]
	return c
}

// Begin starts a Step, whose effects go to out. It notices the promises that have run out before anything else happens, so
// that whatever is assigned after it counts.
func (g *Grantor) Begin(now protocol.Time, out *protocol.Effects) {
	g.out = out
	if now < g.lapse {
		return
	}
	g.lapse = protocol.Never
	for _, w := range g.wards {
		if w == nil {
			continue
		}
		for _, p := range w.promises {
			g.lapseOne(now, p)
		}
	}
	keep := g.old[:0]
	for _, p := range g.old {
		g.lapseOne(now, p)
		if p.first != nil {
			keep = append(keep, p)
		}
	}
	clear(g.old[len(keep):])
	g.old = keep
}

func (g *Grantor) lapseOne(now protocol.Time, p *promise) {
	if p.first == nil {
		return
	}
	if now < p.until {
		g.lapse = min(g.lapse, p.until)
		return
	}
	for p.first != nil {
		g.unassign(now, p.first, "lapsed", 0, protocol.Cause{Code: protocol.LeaseExpired, Peer: p.to.Rank})
	}
}

// Request judges a request of from, which must be of the latest incarnation of its member, and answers it.
func (g *Grantor) Request(now protocol.Time, from protocol.Ident, delay time.Duration, r *Request) {
	if why, ok := g.refuse(now, r, delay); ok {
		g.refuseAll(now, from, r, why)
		return
	}
	w := g.ward(from)
	if w.dead != protocol.Never {
		g.refuseAll(now, from, r, WhyDead)
		return
	}
	if r.Seq <= w.seq {
		g.refuseAll(now, from, r, WhyStale)
		return
	}
	w.seq = r.Seq
	ok := protocol.Make[OK](g.out)
	*ok = OK{Asker: from.Inc, Seq: r.Seq, At: now, Floor: g.terms.Floor, Results: ok.Results[:0], More: ok.More[:0], Wish: g.reach.Wish}
	longest := time.Duration(0) // of the promises that are made
	if r.Delta > 0 && !g.late(now, r, r.Delta, delay) {
		ok.Gen = g.extend(now, w, r, Ask{Delta: r.Delta})
		if ok.Gen != 0 {
			longest = r.Delta
		}
	}
	for _, a := range r.More {
		if g.late(now, r, a.Delta, delay) {
			continue
		}
		if gen := g.extend(now, w, r, a); gen != 0 {
			ok.More = append(ok.More, Kept{a.Length, gen})
			longest = max(longest, a.Delta)
		}
	}
	if r.Wish > 0 && r.Wish <= g.cfg.Longest {
		g.reach.require(g.cfg, r.Wish, r.Wish)
	}
	high := uint64(0)
	for i := range r.Releases {
		high = max(high, g.release(now, &r.Releases[i]))
	}
	for i := range r.Claims {
		p := w.promise(r.Claims[i].Length)
		if p == nil || p.seq != r.Seq {
			continue // it was not renewed
		}
		res := g.claim(now, p, &r.Claims[i])
		if res.Code == Granted {
			high = max(high, res.Term)
		}
		ok.Results = append(ok.Results, res)
	}
	g.out.Send = append(g.out.Send, protocol.Envelope{To: from.Rank, Message: ok, Durable: high > g.terms.Durable || longest > g.reach.Durable})
}

// refuse returns why the whole request cannot be looked at, if so.
func (g *Grantor) refuse(now protocol.Time, r *Request, delay time.Duration) (Why, bool) {
	c := g.cfg
	switch {
	case r.Epoch != c.Epoch:
		return WhyEpoch, true
	case r.Digest != c.Digest:
		return WhyConfig, true
	case g.closed:
		return WhyClosing, true
	case now < g.ready:
		return WhyRecovering, true
	case !c.asksWell(r):
		return WhyConfig, true
	case c.Skew != nil && r.Start.Sub(c.Skew.At(now)) > c.Skew.Skew():
		return WhyClock, true
	}
	longest := r.Delta
	for _, a := range r.More {
		longest = max(longest, a.Delta)
	}
	return WhyLate, g.late(now, r, longest, delay)
}

// asksWell says whether a request asks for at least one promise, for no more than MaxLengths, for each of them once, and
// for none beyond the longest. A length may be beyond it: it names the promise, and is from before the council has changed.
func (c *Config) asksWell(r *Request) bool {
	if r.Delta < 0 || r.Delta > c.Longest || r.Delta == 0 && len(r.More) == 0 {
		return false
	}
	n, last := len(r.More), time.Duration(0)
	if r.Delta > 0 {
		n++
	}
	for _, a := range r.More {
		if a.Length <= last || a.Delta <= 0 || a.Delta > c.Longest {
			return false
		}
		last = a.Length
	}
	return n <= MaxLengths
}

// late says whether a request is older than a promise of delta that it asks for. Such a promise would only keep others
// from what its holder has lost already.
func (g *Grantor) late(now protocol.Time, r *Request, delta, delay time.Duration) bool {
	c := g.cfg
	if !c.TrustAge && delay != protocol.Unknown && delay > delta {
		return true
	}
	return c.Skew != nil && r.Start.Add(delta+c.Skew.Skew()) <= c.Skew.At(now)
}

func (g *Grantor) refuseAll(now protocol.Time, from protocol.Ident, r *Request, why Why) {
	nack := Nack{Asker: from.Inc, Seq: r.Seq, Why: why, Floor: g.terms.Floor}
	if why == WhyRecovering && g.ready != protocol.Never {
		nack.Remaining = g.ready.Sub(now)
	}
	g.out.Send = append(g.out.Send, protocol.Envelope{To: from.Rank, Message: protocol.Keep(g.out, nack)})
}

// ward returns what was promised to from. What was promised to an earlier incarnation stands until it lapses: a restart
// proves nothing about a program that the incarnation before has left behind.
func (g *Grantor) ward(from protocol.Ident) *ward {
	w := g.wards[from.Rank]
	if w != nil && w.to == from {
		return w
	}
	if w != nil {
		for _, p := range w.promises {
			if p.first != nil {
				g.old = append(g.old, p)
			}
		}
	}
	w = &ward{to: from, dead: protocol.Never}
	g.wards[from.Rank] = w
	return w
}

// promise returns the promise of a length, or nil.
func (w *ward) promise(length time.Duration) *promise {
	for _, p := range w.promises {
		if p.length == length {
			return p
		}
	}
	return nil
}

// maxPromises bounds the promises to one ward. An honest holder needs more than MaxLengths only while promises stand that it
// has given up without a release.
const maxPromises = 2 * MaxLengths

// begin adds a promise of no duration for request seq, or returns nil if there are too many. From MaxLengths on those go in
// which nothing is assigned, whether they have run out or not: they keep nobody from anything. Those that the same request
// has renewed stay, for its claims.
func (w *ward) begin(seq uint64, length time.Duration) *promise {
	if len(w.promises) >= MaxLengths {
		w.promises = slices.DeleteFunc(w.promises, func(p *promise) bool { return p.first == nil && p.seq != seq })
	}
	if len(w.promises) >= maxPromises {
		return nil
	}
	p := &promise{to: w.to, length: length}
	w.promises = append(w.promises, p)
	return p
}

// extend renews the promise of one length, and returns its number; zero: there are too many others. One that has run out
// begins anew, without assignments. The others stay as they are.
func (g *Grantor) extend(now protocol.Time, w *ward, r *Request, a Ask) uint64 {
	p := w.promise(a.Length)
	if p == nil {
		p = w.begin(r.Seq, a.Length)
	}
	if p == nil {
		return 0
	}
	if p.gen == 0 || now >= p.until {
		if p.gen > 0 {
			g.out.Facts = append(g.out.Facts, protocol.Fact{Ev: protocol.EvBreak, Dom: g.cfg.Domain, Peer: p.to, Gen: p.gen, Length: p.length})
		}
		w.gen++
		p.gen, p.until = w.gen, now
	}
	g.reach.require(g.cfg, a.Length, a.Delta)
	p.until, p.seq = max(p.until, g.cfg.promise(now, r.Start, a.Delta)), r.Seq
	g.out.Facts = append(g.out.Facts, protocol.Fact{Ev: protocol.EvPromise, Dom: g.cfg.Domain, Peer: p.to, Gen: p.gen,
		Seq: p.seq, Until: p.until, Length: p.length})
	return p.gen
}

// ReadyAt returns since when the voter grants, or when it will.
func (g *Grantor) ReadyAt() protocol.Time { return g.ready }
