package lease

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// MaxLengths is how many lengths a holder has at once at most. One of the places is kept for length 0.
const MaxLengths = 8

// A length is the promises of one length that a holder asks for, of all voters.
type length struct {
	nominal time.Duration // names it; zero: Config.Lease
	tenures int           // how many rest on it; it is asked for while there are any
	by      []standing    // by rank of the voter
	next    protocol.Time // when it is to be renewed; of no use for lengths that every round renews
	// due says that the present round renews it, and claimed is the last request that claimed a group in it.
	due     bool
	claimed uint64
}

// A standing is how one voter stands to the holder, in one length.
type standing struct {
	// gen numbers the voter's promise; zero: none is known. end is until when, on this member's clock, it can be relied on.
	// Invariant: gen never falls within an incarnation of the voter, and end never does while gen stands.
	gen uint64
	end protocol.Time
	// begun says that TakeBegun has not reported the promise.
	begun bool
}

func (h *Holder) newLength(nominal time.Duration) *length {
	return &length{nominal: nominal, by: make([]standing, h.cfg.Members)}
}

// length returns the length of that name, or nil.
func (h *Holder) length(nominal time.Duration) *length {
	for _, l := range h.lengths {
		if l.nominal == nominal {
			return l
		}
	}
	return nil
}

// used says whether the length is there for anything.
func (l *length) used() bool { return l.tenures > 0 }

// Room says whether a tenure of that length may begin. Voters refuse a request for more than MaxLengths as a whole, and all
// leases that it would renew run out. A length that is listed but not used has no place yet; length 0 always has one.
func (h *Holder) Room(nominal time.Duration) bool {
	others := 0
	for _, l := range h.lengths {
		if l.nominal != 0 && l.nominal != nominal && l.used() {
			others++
		}
	}
	return nominal == 0 || others < MaxLengths-1
}

// use returns the length of that name for one more tenure. Those that nothing rests on any more go, if there are many:
// nobody has acknowledged anything that still counts in them.
func (h *Holder) use(now protocol.Time, nominal time.Duration) *length {
	l := h.length(nominal)
	if l == nil {
		if len(h.lengths) >= MaxLengths {
			h.lengths = slices.DeleteFunc(h.lengths, func(l *length) bool { return l.nominal != 0 && !l.used() })
		}
		l = h.newLength(nominal)
		at, _ := slices.BinarySearchFunc(h.lengths, nominal, func(l *length, d time.Duration) int { return cmp.Compare(l.nominal, d) })
		h.lengths = slices.Insert(h.lengths, at, l)
	}
	if !l.used() {
		l.next = now
	}
	l.tenures++
	return l
}

// delta chooses for how long the next request asks: for a while, and for longer if very many groups depend on it.
func (h *Holder) delta(l *length) time.Duration {
	while := l.nominal
	if while == 0 {
		while = h.while()
	}
	return min(h.cfg.Longest, while+time.Duration(l.tenures)*h.cfg.PerGroup)
}

// tryFor is how long an attempt may take. A long lease is no reason to wait long for answers, unless they take long.
func (h *Holder) tryFor(l *length) time.Duration {
	while := max(h.while(), h.cfg.RoundTrip+h.SlowDown(l.nominal))
	return min(h.delta(l), while+time.Duration(len(h.tenures))*h.cfg.PerGroup)
}

// every returns how many rounds lie between two renewals of a length. One that is longer than the longest promise by now, because the
// council has changed, is renewed like the longest.
func (h *Holder) every(l *length) time.Duration {
	return rounds(min(l.nominal, h.cfg.Longest), h.cfg.Lease)
}

// brisk says that every round has something to say.
func (h *Holder) brisk() bool {
	if len(h.trying) > 0 {
		return true
	}
	for _, l := range h.lengths {
		if l.used() && h.every(l) == 1 {
			return true
		}
	}
	return false
}

// Shortest returns the shortest lease that the holder has or tries for; that of the council if there is none, or if it is longer.
func (h *Holder) Shortest() time.Duration {
	shortest := time.Duration(0)
	for _, l := range h.lengths {
		if of := max(l.nominal, h.cfg.Lease); l.used() && (shortest == 0 || of < shortest) {
			shortest = of
		}
	}
	return max(shortest, h.cfg.Lease)
}

// soon sees to it that a round comes within the interval between renewals, unless there are to be no more.
func (h *Holder) soon(now protocol.Time) {
	if h.renew != protocol.Never {
		h.renew = min(h.renew, now.Add(h.cfg.Renew))
	}
}

// nextRound returns when the next round is due: after the interval between renewals, or if nothing but releases is to be
// repeated, ever more slowly, but for each length in time.
func (h *Holder) nextRound(now protocol.Time) protocol.Time {
	next := protocol.Never
	if h.brisk() || len(h.releases) > 0 {
		next = now.Add(h.pace() << min(h.quiet, maxQuiet))
	}
	for _, l := range h.lengths {
		switch {
		case !l.used() || h.every(l) == 1:
		case l.due:
			next = min(next, now.Add(h.every(l)*h.cfg.Renew))
		default:
			next = min(next, l.next)
		}
	}
	return next
}

// markDue marks the lengths that a round renews, and says whether there are any. Rounds come a little late: a length that
// would be due before the next one is half over is renewed with this one.
func (h *Holder) markDue(now protocol.Time) bool {
	any := false
	for _, l := range h.lengths {
		l.due = l.used() && (h.every(l) == 1 || l.next <= now.Add(h.cfg.Renew/2))
		any = any || l.due
	}
	return any
}

// unmark ends a round.
func (h *Holder) unmark(now protocol.Time) {
	for _, l := range h.lengths {
		if l.due {
			l.due, l.next = false, now.Add(h.every(l)*h.cfg.Renew)
		}
	}
}

// packAsks asks for the promises that are due and those in which the request claims anything. A request that only
// releases asks for one all the same.
func (h *Holder) packAsks(m *Request, f *flight) {
	for _, l := range h.lengths {
		if l.due || l.claimed == m.Seq {
			h.ask(m, f, l)
		}
	}
	if len(f.asks) == 0 {
		h.ask(m, f, h.any())
	}
}

// any returns a length that is used, or else that of length 0.
func (h *Holder) any() *length {
	for _, l := range h.lengths {
		if l.used() {
			return l
		}
	}
	return h.lengths[0]
}

// wish returns the longest lease that anybody is known to want.
func (h *Holder) wish() time.Duration {
	d := h.grantor.reach.Wish
	for i := range h.voters {
		d = max(d, h.voters[i].wish)
	}
	return d
}

func (h *Holder) ask(m *Request, f *flight, l *length) {
	a := Ask{l.nominal, h.delta(l)}
	f.asks = append(f.asks, a)
	if l.nominal == 0 {
		m.Delta = a.Delta
	} else {
		m.More = append(m.More, a)
	}
}

// longest returns the longest promise that a flight asks for.
func (f *flight) longest() time.Duration {
	d := time.Duration(0)
	for _, a := range f.asks {
		d = max(d, a.Delta)
	}
	return d
}

// CheckLength returns what is wrong with a length that a tenure is to have.
func (c *Config) CheckLength(length time.Duration) error {
	if length > c.Longest {
		return fmt.Errorf("lease %v: the council's longest is %v", length, c.Longest)
	}
	x := *c
	x.Lease = length
	return x.Check()
}
