package core

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	sharedmemory "github.com/regentproject/regent/internal/page/shared"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
)

// deadlines shows the programs of an agent until when they lead. It is the mirror of the member's leases: the member's loop moves a
// horizon by one store on a page that programs read. Programs that read no page get messages.
//
// The loop may run under real-time scheduling, and takes mu for anything but a renewal: a slot must show that its lease is over before the
// loop goes on, because others behind the same horizon are renewed. Ordinary goroutines hold mu for a few loads and stores in which nothing
// is allocated, no clock is read, and no length depends on how many programs there are. So the loop waits for at most that, and for
// as long as the kernel keeps the one thread that holds mu off the processor. A wait delays renewals, and never lengthens a lease.
type deadlines struct {
	// now reads the member's clock, also while the member joins: its loop may renew leases before the agent knows of it.
	now      func() protocol.Time
	timing   regent.Timing
	memory   *sharedmemory.Memory // nil: there is no page
	identity uint64               // of the page
	// moved has an element when leases were renewed since the last look, if any program gets messages; messages is how many do.
	moved    chan struct{}
	messages atomic.Int64
	// horizons belong to the member's loop.
	horizons map[protocol.HorizonID]*horizon
	// leases has a *shownLease for each leaseName. Only the loop changes it, so that no other goroutine holds it up.
	leases sync.Map

	// mu guards where slots lie, and the horizons of the page.
	mu sync.Mutex
	// writer opens and closes slots under books, and does the rest under mu.
	writer *page.Writer

	// books guards what the loop does not touch. It is not held together with mu.
	books sync.Mutex
	// lines are the candidates that need messages: they, or their keepers, read no page.
	lines []*Candidate
}

// leaseName identifies a lease of the member.
type leaseName struct {
	group protocol.Group
	token uint64
}

// A shownLease is where a lease lies. Its fields are guarded by mu.
type shownLease struct {
	horizon *horizon // with a cell; nil: it ends at end
	// end is an instant of the member's clock, and hostEnd the same of the host's.
	end, hostEnd protocol.Time
	// full says that it lies behind a horizon for which the page has no room: it is renewed, and end is not.
	full bool
	// over says that it has ended.
	over bool
	// reader is the candidate that is shown it on the page; nil: none is.
	reader *Candidate
}

// A horizon is the shared end of leases.
type horizon struct {
	cell *page.Horizon // nil: the page has no room for it
	// end is a protocol.Time of the member's clock. Invariant: the cell never shows a later one.
	end   atomic.Int64
	watch *party.Watch // for programs with the agent's guard time
}

// The size of the page. Memory that nothing uses costs nothing.
const (
	pageCells = 1 << 10
	pageSlots = 1 << 16
)

// maxIdentity keeps identities within what all languages read exactly from JSON.
const maxIdentity = 1<<53 - 1

// newDeadlines makes a page if the system has one.
func newDeadlines(a *Agent) *deadlines {
	d := &deadlines{now: a.Now, timing: a.Timing, moved: make(chan struct{}, 1),
		horizons: make(map[protocol.HorizonID]*horizon)}
	memory, err := sharedmemory.New(page.Size(pageCells, pageSlots))
	if err != nil {
		return d
	}
	identity := 1 + rand.Uint64N(maxIdentity)
	d.writer, err = page.NewWriter(memory, pageCells, pageSlots, identity)
	if err == nil {
		d.memory, d.identity = memory, identity
	}
	return d
}

// toHost turns an instant of the member's clock into one of the clock of the host, rounded down.
func (d *deadlines) toHost(t protocol.Time) protocol.Time {
	host, err := clock.HostLow() // first: what passes until the next line makes the result earlier
	if err != nil || t <= 0 {
		return 0
	}
	return host.Add(t.Sub(d.now()))
}

// horizon returns the horizon with a name, a new one if there is none. Only the loop calls it.
func (d *deadlines) horizon(id protocol.HorizonID) *horizon {
	h := d.horizons[id]
	if h == nil {
		h = new(horizon)
		h.watch = party.NewWatch(func() time.Duration {
			return protocol.Time(h.end.Load()).Sub(d.now()) - d.timing.Guard - session.Skew
		})
		if d.memory != nil {
			d.mu.Lock()
			h.cell = d.writer.NewHorizon()
			d.mu.Unlock()
		}
		d.horizons[id] = h
	}
	return h
}

// Extended is of runtime.Mirror, as are Dropped, Behind, Fixed and Ended. It takes no lock: a renewal waits for nothing.
func (d *deadlines) Extended(id protocol.HorizonID, until protocol.Time) {
	h := d.horizon(id)
	h.end.Store(int64(until)) // first: a freeze must find what readers can
	if h.cell != nil {
		h.cell.Extend(d.toHost(until))
	}
	d.move()
}

// move has programs that get messages learn of later ends.
func (d *deadlines) move() {
	if d.messages.Load() > 0 {
		select {
		case d.moved <- struct{}{}:
		default:
		}
	}
}

// Dropped forgets a horizon. Slots that still name it keep its cell.
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
	d.place(g, token, d.horizon(id), 0)
}

// Fixed gives a lease an end of its own.
func (d *deadlines) Fixed(g protocol.Group, token uint64, until protocol.Time) {
	d.place(g, token, nil, until)
}

func (d *deadlines) place(g protocol.Group, token uint64, h *horizon, end protocol.Time) {
	full := h != nil && h.cell == nil
	if full {
		h, end = nil, protocol.Time(h.end.Load())
	}
	hostEnd := d.toHost(end)
	name := leaseName{g, token}
	l := d.lease(name)
	if l == nil {
		l = &shownLease{horizon: h, end: end, hostEnd: hostEnd, full: full}
		d.leases.Store(name, l)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l.horizon, l.end, l.hostEnd, l.full = h, end, hostEnd, full
	if l.reader != nil {
		l.reader.place(l)
	}
}

// lease returns where a lease lies; nil: it has ended, or has not begun.
func (d *deadlines) lease(name leaseName) *shownLease {
	l, ok := d.leases.Load(name)
	if !ok {
		return nil
	}
	return l.(*shownLease)
}

// Ended ends a lease: readers find at once that it is over. What they found before stays announced.
func (d *deadlines) Ended(g protocol.Group, token uint64) {
	name := leaseName{g, token}
	l := d.lease(name)
	if l == nil {
		return
	}
	d.leases.Delete(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	l.over = true
	if l.reader != nil {
		l.reader.showOver()
	}
}

// show gives a program that begins to lead a slot, if it reads the page and one is free.
func (c *Candidate) show() {
	d, lease := c.agent.deadlines, c.CurrentLease()
	if c.Page && d.memory != nil && lease != nil { // turns and memberships are not on the page
		c.enterPage(c.hold.Number, lease.Valid)
	}
	if c.slot.Load() == nil || !c.Keeper.OnPage() {
		d.books.Lock()
		defer d.books.Unlock()
		d.lines = append(d.lines, c)
		d.messages.Add(1)
	}
}

// enterPage gives the program a slot that shows the lease with a token, if one is free. A lease that is over may have a successor with the same
// token. Ended is called before a lease that is valid now is over, so that valid is asked last. The program does not know the slot until then.
func (c *Candidate) enterPage(token uint64, valid func() bool) {
	d := c.agent.deadlines
	l := d.lease(leaseName{protocol.Group(c.Group), token})
	if l == nil {
		return
	}
	slot := d.openSlot()
	if slot == nil {
		return
	}
	if !c.takeSlot(slot, l) {
		d.closeSlot(slot)
		return
	}
	if !valid() {
		c.leavePage()
	}
}

// openSlot returns a slot that nothing uses; nil if there is none.
func (d *deadlines) openSlot() *page.Tenure {
	d.books.Lock()
	defer d.books.Unlock()
	return d.writer.Open()
}

// closeSlot gives a slot back that names no horizon.
func (d *deadlines) closeSlot(slot *page.Tenure) {
	d.books.Lock()
	defer d.books.Unlock()
	slot.Close()
}

// takeSlot has the slot show the lease, and reports whether it does.
func (c *Candidate) takeSlot(slot *page.Tenure, l *shownLease) bool {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.over || l.full || l.reader != nil {
		return false
	}
	l.reader, c.placed = c, l
	c.slot.Store(slot)
	c.place(l)
	return true
}

// place shows where the lease lies. One behind a horizon for which the page has no room is not renewed on the page any more. After a freeze the
// slot shows what it showed then, until the lease is over. It is called with mu held.
func (c *Candidate) place(l *shownLease) {
	slot := c.slot.Load()
	if slot.Frozen() {
		return
	}
	if l.horizon != nil {
		slot.Follow(l.horizon.cell)
		c.leaves()
		c.behind.Store(l.horizon)
		return
	}
	slot.Fix(l.hostEnd)
	c.leaves()
	c.fixed.Store(int64(l.end))
	c.raise(l.end)
}

// showOver shows that the lease is over, also after a freeze. What a freeze found stays announced. It is called with mu held.
func (c *Candidate) showOver() {
	slot := c.slot.Load()
	frozen := slot.Frozen()
	slot.Void()
	c.leaves()
	if !frozen {
		c.fixed.Store(0)
	}
}

// leaves takes note that the slot does not name its horizon any more. It comes after the store that says so: what the horizon gains from then on no
// reader accepts. Goroutines that do not hold mu find the horizon, or what it leaves.
func (c *Candidate) leaves() {
	if h := c.behind.Load(); h != nil {
		end := h.end.Load()
		c.fixed.Store(end)
		c.raise(protocol.Time(end))
		c.behind.Store(nil)
	}
}

// raise takes note of an end that was shown. It is called with mu held.
func (c *Candidate) raise(end protocol.Time) { c.highest.Store(max(c.highest.Load(), int64(end))) }

// void shows that the lease is over.
func (c *Candidate) void() {
	if c.slot.Load() == nil {
		return
	}
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	c.showOver()
}

// fix answers the machine: no later end is shown from now on, and it returns the highest that was.
func (c *Candidate) fix() protocol.Time {
	slot := c.slot.Load()
	if slot == nil {
		return 0
	}
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	slot.Freeze()
	c.leaves()
	return protocol.Time(c.highest.Load())
}

// shown returns the highest end that the program may have read; false if it reads none. One that is placed at the same time may be missing:
// only fix finds all.
func (c *Candidate) shown() (protocol.Time, bool) {
	if c.slot.Load() == nil {
		return 0, false
	}
	now := c.current() // first: what a horizon leaves is among the highest before the slot is seen to have left it
	return max(protocol.Time(c.highest.Load()), now), true
}

// current returns the end that the slot shows now.
func (c *Candidate) current() protocol.Time {
	if h := c.behind.Load(); h != nil {
		return protocol.Time(h.end.Load())
	}
	return protocol.Time(c.fixed.Load())
}

// watch returns the watch of the horizon behind which the lease lies; nil: none is.
func (c *Candidate) watch() *party.Watch {
	if h := c.behind.Load(); h != nil {
		return h.watch
	}
	return nil
}

// hide gives the slot back: the tenure is over.
func (c *Candidate) hide() {
	c.leaveLines()
	c.leavePage()
}

// leaveLines has the candidate get no message any more.
func (c *Candidate) leaveLines() {
	d := c.agent.deadlines
	d.books.Lock()
	defer d.books.Unlock()
	if i := slices.Index(d.lines, c); i >= 0 {
		d.lines = slices.Delete(d.lines, i, i+1)
		d.messages.Add(-1)
	}
}

// leavePage gives the slot back, if there is one.
func (c *Candidate) leavePage() {
	slot := c.slot.Load()
	if slot == nil {
		return
	}
	d := c.agent.deadlines
	d.mu.Lock()
	slot.Void() // it names no horizon now
	c.placed.reader, c.placed = nil, nil
	c.slot.Store(nil)
	c.behind.Store(nil)
	c.fixed.Store(0)
	c.highest.Store(0)
	d.mu.Unlock()
	d.closeSlot(slot)
}

// OnPage returns the place on the page; the number is zero if the program has none.
func (c *Candidate) OnPage() (slot int, number uint64) {
	if s := c.slot.Load(); s != nil {
		return s.Slot()
	}
	return 0, 0
}

// readable returns the end that the program can read now, less the margin; zero if it reads none.
func (c *Candidate) readable() protocol.Time {
	if c.slot.Load() == nil {
		return 0
	}
	return c.current().Add(-c.Margin)
}

// inLines returns the candidates that need messages.
func (d *deadlines) inLines() []*Candidate {
	d.books.Lock()
	defer d.books.Unlock()
	return slices.Clone(d.lines)
}

// PageIdentity returns that of the page on which programs read their deadlines; zero if there is none.
func (a *Agent) PageIdentity() uint64 { return a.deadlines.identity }

// PageDescriptor returns the file of the page; false if there is none.
func (a *Agent) PageDescriptor() (fd int, ok bool) {
	if a.deadlines.memory == nil {
		return 0, false
	}
	return a.deadlines.memory.Descriptor(), true
}
