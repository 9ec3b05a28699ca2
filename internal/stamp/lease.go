package stamp

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// Instants in this file are nanoseconds of the member's own lease clock.

// Never is the end of a lease that has none of its own.
const Never = math.MaxInt64

// ErrNotLeader says that the tenure is over, or that its lease has run out.
var ErrNotLeader = errors.New("not the leader: the lease is over")

// ErrClosed says that the member is closed. It publishes nothing any more.
var ErrClosed = errors.New("the member is closed")

// A Horizon is the end of all leases of one member that the same voters back. A renewal moves it once, however many
// groups lie behind it. The zero value ends before every instant.
type Horizon struct {
	// end counts from the earliest instant, so that the zero value is the earliest end.
	end atomic.Uint64
	// retired belongs to the publishing goroutine.
	retired bool
}

const origin = uint64(1) << 63

// Extend moves the end to until. It never moves back, and never comes back once retired: such an until is ignored.
// Only one goroutine, the member's loop, calls Extend and Retire.
func (h *Horizon) Extend(until int64) {
	if e := uint64(until) ^ origin; e > h.end.Load() && !h.retired {
		h.end.Store(e)
	}
}

// Retire ends all leases behind the horizon at once, for when nothing may be believed any more: the clock failed, the
// member closes. A retired horizon is not used again.
func (h *Horizon) Retire() {
	h.retired = true
	h.end.Store(0)
}

// Until returns the end.
func (h *Horizon) Until() int64 { return int64(h.end.Load() ^ origin) }

// A publication is what a member publishes about a group that it leads. It is immutable; only its horizon moves.
type publication struct {
	tenure  *Tenure
	horizon *Horizon
	limit   int64
}

// A Slot is where a member publishes its lease of one group, or that it has none. The zero value has none. One
// goroutine, the member's loop, publishes; anybody may read at any time through a Tenure.
type Slot struct {
	lease atomic.Pointer[publication]
}

// Publish says that the tenure is led until the earlier of the horizon and limit, Never if only the horizon counts.
// It replaces whatever was published before.
func (s *Slot) Publish(t *Tenure, h *Horizon, limit int64) {
	if t.slot != s {
		panic("stamp: tenure published in a slot that is not its own")
	}
	s.lease.Store(&publication{tenure: t, horizon: h, limit: limit})
}

// Clear says that nobody here leads the group. When it returns, every reader that reads the clock later says so; only
// then may the lease be released.
func (s *Slot) Clear() { s.lease.Store(nil) }

// A Tenure is one leadership, as the leading program sees it: whether it still leads, until when, and the stamps of
// its edicts. Its methods may be called by any number of goroutines; they take no lock and allocate nothing. A tenure
// that is over never comes back, even if its group is led again from the same slot.
//
// The methods that need a clock take it as an argument: a function that returns an instant of the lease clock during the call, or a
// later one. So one reading may be before another that was taken earlier.
// All judge by the real end of the lease. A caller that wants to stop a guard time earlier, as the runtime does with Done,
// takes that off what Until says; an edict is valid to the end, because its stamp says when it was made.
type Tenure struct {
	slot   *Slot
	epoch  uint64
	token  uint64
	quorum Quorum
	// last is the counter of the latest edict. It is all that edicts write, and lies on a cache line of its own so that
	// one does not slow down the others' reading of the rest.
	_    [64]byte
	last atomic.Int64
	_    [56]byte
}

// NewTenure returns a tenure whose lease will be published in the slot. The quorum is kept, and must not be changed.
func (s *Slot) NewTenure(epoch, token uint64, quorum Quorum) *Tenure {
	t := &Tenure{slot: s, epoch: epoch, token: token, quorum: quorum}
	t.last.Store(math.MinInt64)
	return t
}

// Token returns the term of the tenure, the same for all its edicts.
func (t *Tenure) Token() uint64 { return t.token }

// sample returns a clock reading at which the tenure was led, and the end that the lease had then.
//
// One look at the lease is not enough, whichever side of the clock it is on: between the two the loop may demote the
// member, release, and a successor may lead. So the reading counts only if the same lease with the same end was there
// before and after it. A change means that the loop was at work: look again.
func (t *Tenure) sample(now func() int64) (c, end int64, ok bool) {
	for {
		l := t.slot.lease.Load()
		if l == nil || l.tenure != t {
			return 0, 0, false
		}
		h := l.horizon.end.Load()
		c = now()
		if t.slot.lease.Load() != l || l.horizon.end.Load() != h {
			continue
		}
		end = min(int64(h^origin), l.limit)
		return c, end, c < end
	}
}

// Valid says whether the tenure was led at a clock reading taken during the call. The answer is about the past as soon
// as it is given: what must not happen twice needs an edict, and a receiver that compares it.
func (t *Tenure) Valid(now func() int64) bool {
	_, _, ok := t.sample(now)
	return ok
}

// Remaining returns how long the lease runs on if it is not renewed, and zero once it is over.
func (t *Tenure) Remaining(now func() int64) time.Duration {
	c, end, ok := t.sample(now)
	if !ok {
		return 0
	}
	if d := time.Duration(end - c); d > 0 {
		return d
	}
	return math.MaxInt64 // the difference does not fit
}

// Until returns the end of the lease as published now, and the earliest instant if the tenure is over.
func (t *Tenure) Until() int64 {
	l := t.slot.lease.Load()
	if l == nil || l.tenure != t {
		return math.MinInt64
	}
	return min(l.horizon.Until(), l.limit)
}

// Edict returns the stamp of an edict made now, or ErrNotLeader. Its counter is the clock reading that shows that the
// tenure was led, and is above the counters of all edicts of the tenure that were returned before the call. Where the
// reading is not after the last edict the counter is one above that, never beyond the end of the lease.
func (t *Tenure) Edict(now func() int64) (Edict, error) {
	for {
		last := t.last.Load()
		c, end, ok := t.sample(now)
		if ok && c <= last {
			c = last + 1
			ok = c < end
		}
		if !ok {
			return Edict{}, ErrNotLeader
		}
		// Where goroutines meet, the one with the later sample goes above the other. The one that was overtaken has a sample
		// that is no longer the latest, and takes another.
		for c > last {
			if t.last.CompareAndSwap(last, c) {
				return Edict{Epoch: t.epoch, Token: t.token, Counter: c, Quorum: t.quorum}, nil
			}
			last = t.last.Load()
		}
	}
}
