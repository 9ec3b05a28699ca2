package agent

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	sharedmemory "github.com/regentproject/regent/internal/page/shared"
	"github.com/regentproject/regent/internal/protocol"
)

// deadlines shows the programs of an agent until when they lead. It is the mirror of the member's leases: the member's loop moves a horizon
// by one store on a page that programs read. Programs that read no page are told in messages.
type deadlines struct {
	now      func() regent.Instant
	memory   *sharedmemory.Memory // nil: there is no page
	identity uint64               // of the page
	// moved has an element when leases were renewed since the last look, if any program is told in messages.
	moved    chan struct{}
	messages atomic.Int64 // how many programs are
	// horizons belong to the member's loop.
	horizons map[protocol.HorizonID]*horizon

	mu     sync.Mutex
	writer *page.Writer
	leases map[leaseName]*shownLease
}

// leaseName identifies a lease of the member.
type leaseName struct {
	group protocol.Group
	token uint64
}

// A shownLease is where a lease lies.
type shownLease struct {
	horizon *horizon // nil: it ends at end
	end     protocol.Time
	// reader is the deadline that is shown on the page; nil: none is.
	reader *deadline
}

// A horizon is the shared end of leases.
type horizon struct {
	all  *deadlines
	cell *page.Horizon // nil: the page has no room for it
	end  atomic.Int64
	// readers are the deadlines that lie behind it on the page. The timer rings when its end may have passed.
	readers map[*deadline]struct{}
	timer   *time.Timer
}

// The size of the page. Memory that nothing uses costs nothing.
const (
	pageCells = 1 << 10
	pageSlots = 1 << 16
)

// newDeadlines makes a page if the system has one.
func newDeadlines(now func() regent.Instant) *deadlines {
	d := &deadlines{now: now, moved: make(chan struct{}, 1), horizons: make(map[protocol.HorizonID]*horizon), leases: make(map[leaseName]*shownLease)}
	memory, err := sharedmemory.New(page.Size(pageCells, pageSlots))
	if err != nil {
		return d
	}
	d.identity = 1 + rand.Uint64N(maxIdentity)
	if d.writer, err = page.NewWriter(memory, pageCells, pageSlots, d.identity); err == nil {
		d.memory = memory
	}
	return d
}

// maxIdentity keeps identities within what all languages read exactly from JSON.
const maxIdentity = 1<<53 - 1

// toHost turns an instant of the member's clock into one of the clock of the host, rounded down.
func (d *deadlines) toHost(t protocol.Time) protocol.Time {
	host, err := clock.HostLow() // first: what passes until the next line makes the result earlier
	if err != nil || t <= 0 {
		return 0
	}
	return host.Add(regent.Instant(t).Sub(d.now()))
}

// fromHost turns an instant of the clock of the host into one of the member's clock, rounded up.
func (d *deadlines) fromHost(t protocol.Time) regent.Instant {
	host, err := clock.HostLow()
	if err != nil {
		return 0
	}
	return d.now() + regent.Instant(t.Sub(host))
}

// horizon returns the horizon with a name, a new one if there is none. Only the loop calls it.
func (d *deadlines) horizon(id protocol.HorizonID) *horizon {
	h := d.horizons[id]
	if h == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		h = &horizon{all: d, readers: make(map[*deadline]struct{})}
		if d.memory != nil {
			h.cell = d.writer.NewHorizon()
		}
		d.horizons[id] = h
	}
	return h
}

// Extended is of runtime.Mirror, as are Retired, Dropped, Behind, Fixed and Ended.
func (d *deadlines) Extended(id protocol.HorizonID, until protocol.Time) {
	h := d.horizon(id)
	h.end.Store(int64(until))
	if h.cell != nil {
		h.cell.Extend(d.toHost(until))
	}
	if d.messages.Load() > 0 {
		trySignal(d.moved)
	}
}

// Retired ends all leases behind a horizon.
func (d *deadlines) Retired(id protocol.HorizonID) {
	h := d.horizon(id)
	h.end.Store(0)
	if h.cell != nil {
		h.cell.Retire()
	}
	d.Dropped(id)
}

// Dropped forgets a horizon. Readers that are still behind it keep its cell.
func (d *deadlines) Dropped(id protocol.HorizonID) {
	h := d.horizons[id]
	if h == nil {
		return
	}
	delete(d.horizons, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.cell != nil {
		h.cell.Close()
	}
}

// Behind puts a lease behind a horizon.
func (d *deadlines) Behind(g protocol.Group, token uint64, id protocol.HorizonID) {
	h := d.horizon(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lease(g, token)
	l.horizon = h
	if l.reader != nil {
		l.reader.place(l)
	}
}

// Fixed gives a lease an end of its own.
func (d *deadlines) Fixed(g protocol.Group, token uint64, until protocol.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lease(g, token)
	l.horizon, l.end = nil, until
	if l.reader != nil {
		l.reader.place(l)
	}
}

// Ended ends a lease: readers find at once that it is over. What they found before stays announced.
func (d *deadlines) Ended(g protocol.Group, token uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := leaseName{g, token}
	if l := d.leases[name]; l != nil && l.reader != nil {
		l.reader.slot.Fix(0)
		l.reader.freezeLocked()
	}
	delete(d.leases, name)
}

func (d *deadlines) lease(g protocol.Group, token uint64) *shownLease {
	name := leaseName{g, token}
	l := d.leases[name]
	if l == nil {
		l = new(shownLease)
		d.leases[name] = l
	}
	return l
}

// watch lets the timer of a horizon run while anything lies behind it on the page.
func (h *horizon) watch(r *deadline) {
	h.readers[r] = struct{}{}
	if h.timer == nil {
		h.timer = time.AfterFunc(h.left(), h.ring)
	}
}

func (h *horizon) unwatch(r *deadline) {
	delete(h.readers, r)
	if len(h.readers) == 0 && h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// left returns how long it is until the end of the horizon.
func (h *horizon) left() time.Duration { return regent.Instant(h.end.Load()).Sub(h.all.now()) }

// lapsedAgain is how soon after its end a horizon is looked at again, should it be renewed too late.
const lapsedAgain = 50 * time.Millisecond

// ring has the deadlines behind a horizon looked at, once its end has passed.
func (h *horizon) ring() {
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	if h.timer == nil {
		return
	}
	left := h.left()
	if left <= 0 {
		left = lapsedAgain
		for r := range h.readers {
			trySignal(r.alarm)
		}
	}
	h.timer.Reset(left)
}

// A deadline is until when one program leads, as far as it may know.
type deadline struct {
	all    *deadlines
	margin time.Duration // is taken off every end that a program is told or shown
	// alarm has an element when it may have passed, or was frozen.
	alarm chan struct{}

	// The rest is guarded by all.mu.

	lease *regent.Lease // nil: the program does not lead yet
	// slot shows the end on the page; nil: the program is told in messages. behind is the horizon that is watched for it.
	slot   *page.Tenure
	behind *horizon
	// told is the latest end that a message bore.
	// Invariant: nothing is released before announced, unless the program has stopped. It never moves back.
	told   regent.Instant
	frozen bool
}

// newDeadline returns the deadline of a program that does not lead yet.
func (d *deadlines) newDeadline(margin time.Duration) *deadline {
	return &deadline{all: d, margin: margin, alarm: make(chan struct{}, 1)}
}

// begin says that the program leads by a lease. onPage asks for a slot; without one it is told in messages.
func (r *deadline) begin(l *regent.Lease, onPage bool) {
	d := r.all
	d.mu.Lock()
	defer d.mu.Unlock()
	r.lease, r.told = l, l.Until()-regent.Instant(r.margin)
	shown := d.leases[leaseName{protocol.Group(l.Group()), l.Token()}]
	// A lease that is over may have a successor with the same token; one that is valid now has Ended called before that is shown.
	if onPage && d.memory != nil && shown != nil && shown.reader == nil && !r.frozen && l.Valid() {
		r.slot = d.writer.Open()
	}
	if r.slot != nil {
		shown.reader = r
		r.place(shown)
		return
	}
	d.messages.Add(1)
}

// end gives back what the deadline has. The program may not act any more.
func (r *deadline) end() {
	d := r.all
	d.mu.Lock()
	defer d.mu.Unlock()
	r.freezeLocked()
	switch {
	case r.lease == nil:
	case r.slot == nil:
		d.messages.Add(-1)
	default:
		r.told = r.shown()
		if shown := d.leases[leaseName{protocol.Group(r.lease.Group()), r.lease.Token()}]; shown != nil && shown.reader == r {
			shown.reader = nil
		}
		r.slot.Close()
		r.slot = nil
	}
	r.lease = nil
}

// place shows where the lease lies.
func (r *deadline) place(l *shownLease) {
	if r.frozen {
		return
	}
	if r.behind != nil && r.behind != l.horizon {
		r.behind.unwatch(r)
		r.behind = nil
	}
	switch {
	case l.horizon == nil:
		r.slot.Fix(r.all.toHost(l.end))
		trySignal(r.alarm)
	case l.horizon.cell == nil: // no room: it is not renewed on the page any more
		r.slot.Fix(r.all.toHost(protocol.Time(l.horizon.end.Load())))
		trySignal(r.alarm)
	default:
		r.slot.Follow(l.horizon.cell)
		r.behind = l.horizon
		r.behind.watch(r)
	}
}

// freeze lets the program know of no later end from now on.
func (r *deadline) freeze() {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.freezeLocked()
}

func (r *deadline) freezeLocked() {
	if r.frozen {
		return
	}
	r.frozen = true
	if r.slot != nil {
		r.slot.Freeze()
	}
	if r.behind != nil {
		r.behind.unwatch(r)
		r.behind = nil
	}
	trySignal(r.alarm)
}

// isFrozen says whether the program gets to know of no later end.
func (r *deadline) isFrozen() bool {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return r.frozen
}

// shown returns the latest end that the program may know of, on the page or from messages.
func (r *deadline) shown() regent.Instant {
	if r.slot != nil {
		return max(r.told, r.all.fromHost(r.slot.Announced())-regent.Instant(r.margin))
	}
	return r.told
}

// tell returns the end that the program is to be told now, and takes it as told.
func (r *deadline) tell() regent.Instant {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if !r.frozen && r.lease != nil && r.lease.Valid() {
		r.told = max(r.told, r.lease.Until()-regent.Instant(r.margin))
	}
	return r.shown()
}

// hasNews says whether there is a later end to tell in a message.
func (r *deadline) hasNews() bool {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return r.slot == nil && !r.frozen && r.lease != nil && r.lease.Until()-regent.Instant(r.margin) > r.told
}

// renewedByItself says that the deadline moves without anybody looking: the alarm rings when it may have passed.
func (r *deadline) renewedByItself() bool {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return r.behind != nil
}

// left returns how long it is until the end that the program knows.
func (r *deadline) left() time.Duration {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return r.shown().Sub(r.all.now())
}

// leftOrFreeze returns how long it is until an instant so long before that end. If that has passed, the program gets to know of no later end.
func (r *deadline) leftOrFreeze(before time.Duration) time.Duration {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	left := r.shown().Sub(r.all.now()) - before
	if left <= 0 {
		r.freezeLocked()
		left = r.shown().Sub(r.all.now()) - before // the horizon may have moved meanwhile
	}
	return left
}

// onPage returns the place on the page, for the line that says that the program leads; the number is zero if it has none.
func (r *deadline) onPage() (slot int, number uint64) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if r.slot == nil {
		return 0, 0
	}
	return r.slot.Slot()
}
