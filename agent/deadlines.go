package agent

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
type deadlines struct {
	// now reads the member's clock, also while the member joins: its loop may renew leases before the agent knows of it.
	now      func() regent.Instant
	timing   regent.Timing
	memory   *sharedmemory.Memory // nil: there is no page
	identity uint64               // of the page
	// moved has an element when leases were renewed since the last look, if any program gets messages; messages is how many do.
	moved    chan struct{}
	messages atomic.Int64
	// horizons belong to the member's loop.
	horizons map[protocol.HorizonID]*horizon

	mu     sync.Mutex
	writer *page.Writer
	leases map[leaseName]*shownLease
	// lines are the candidates that need messages: they, or their keepers, read no page.
	lines []*candidate
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
	// reader is the candidate that is shown it on the page; nil: none is.
	reader *candidate
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
	d := &deadlines{now: a.now, timing: a.timing, moved: make(chan struct{}, 1),
		horizons: make(map[protocol.HorizonID]*horizon), leases: make(map[leaseName]*shownLease)}
	memory, err := sharedmemory.New(page.Size(pageCells, pageSlots))
	if err != nil {
		return d
	}
	identity := 1 + rand.Uint64N(maxIdentity)
	if d.writer, err = page.NewWriter(memory, pageCells, pageSlots, identity); err == nil {
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
	return host.Add(regent.Instant(t).Sub(d.now()))
}

// horizon returns the horizon with a name, a new one if there is none. Only the loop calls it.
func (d *deadlines) horizon(id protocol.HorizonID) *horizon {
	h := d.horizons[id]
	if h == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		h = new(horizon)
		h.watch = party.NewWatch(func() time.Duration {
			return regent.Instant(h.end.Load()).Sub(d.now()) - d.timing.Guard - session.Skew
		})
		if d.memory != nil {
			h.cell = d.writer.NewHorizon()
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
	if d.messages.Load() > 0 {
		trySignal(d.moved)
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
	d.mu.Lock()
	defer d.mu.Unlock()
	name := leaseName{g, token}
	l := d.leases[name]
	if l == nil {
		l = new(shownLease)
		d.leases[name] = l
	}
	l.horizon, l.end = h, end
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
		l.reader.showOver()
	}
	delete(d.leases, name)
}

// show gives a program that begins to lead a slot, if it reads the page and one is free.
func (c *candidate) show() {
	d, lease := c.agent.deadlines, c.currentLease()
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.leases[leaseName{protocol.Group(c.group), lease.Token()}]; c.readsPage && d.memory != nil && l != nil && l.reader == nil && (l.horizon == nil || l.horizon.cell != nil) &&
		// One that is over may have a successor with the same token. Ended is called before a lease that is valid now is over.
		lease.Valid() {
		c.slot = d.writer.Open()
		if c.slot != nil {
			l.reader, c.placed = c, l
			c.place(l)
		}
	}
	if c.slot == nil || c.keeper != nil && !c.keeper.readsPage {
		d.lines = append(d.lines, c)
		d.messages.Add(1)
	}
}

// place shows where the lease lies. One behind a horizon for which the page has no room is not renewed on the page any more.
func (c *candidate) place(l *shownLease) {
	switch {
	case l.horizon == nil:
		c.showEnd(l.end)
	case l.horizon.cell == nil:
		c.showEnd(protocol.Time(l.horizon.end.Load()))
	default:
		c.slot.Follow(l.horizon.cell)
		c.leaves()
		if !c.slot.Frozen() {
			c.behind = l.horizon
		}
	}
}

// showEnd shows an end that does not move. After a freeze the slot shows what it showed then, until the lease is over.
func (c *candidate) showEnd(end protocol.Time) {
	if c.slot.Frozen() {
		return
	}
	c.slot.Fix(c.agent.deadlines.toHost(end))
	c.leaves()
	c.fixed = end
	c.highest = max(c.highest, end)
}

// showOver shows that the lease is over, also after a freeze. What a freeze found stays announced.
func (c *candidate) showOver() {
	frozen := c.slot.Frozen()
	c.slot.Void()
	c.leaves()
	if !frozen {
		c.fixed = 0
	}
}

// leaves takes note that the slot does not name its horizon any more. It comes after the store that says so: what the horizon gains from then on no
// reader accepts.
func (c *candidate) leaves() {
	if c.behind != nil {
		c.fixed = protocol.Time(c.behind.end.Load())
		c.highest = max(c.highest, c.fixed)
		c.behind = nil
	}
}

// void shows that the lease is over.
func (c *candidate) void() {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot != nil {
		c.showOver()
	}
}

// fix answers the machine: no later end is shown from now on, and it returns the highest that was.
func (c *candidate) fix() protocol.Time {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot == nil {
		return 0
	}
	c.slot.Freeze()
	c.leaves()
	return c.highest
}

// shown returns the highest end that the program may have read; false if it reads none.
func (c *candidate) shown() (protocol.Time, bool) {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot == nil {
		return 0, false
	}
	return max(c.highest, c.current()), true
}

// current returns the end that the slot shows now. It is called with mu held.
func (c *candidate) current() protocol.Time {
	if c.behind != nil {
		return protocol.Time(c.behind.end.Load())
	}
	return c.fixed
}

// watch returns the watch of the horizon behind which the lease lies; nil: none is.
func (c *candidate) watch() *party.Watch {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot == nil || c.behind == nil {
		return nil
	}
	return c.behind.watch
}

// hide gives the slot back: the tenure is over.
func (c *candidate) hide() {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.lines, c); i >= 0 {
		d.lines = slices.Delete(d.lines, i, i+1)
		d.messages.Add(-1)
	}
	if c.slot == nil {
		return
	}
	c.slot.Close()
	c.placed.reader = nil
	c.slot, c.placed, c.behind = nil, nil, nil
}

// onPage returns the place on the page; the number is zero if the program has none.
func (c *candidate) onPage() (slot int, number uint64) {
	c.agent.deadlines.mu.Lock()
	defer c.agent.deadlines.mu.Unlock()
	if c.slot == nil {
		return 0, 0
	}
	return c.slot.Slot()
}

// readable returns the end that the program can read now, less the margin; zero if it reads none.
func (c *candidate) readable() regent.Instant {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot == nil {
		return 0
	}
	return regent.Instant(c.current().Add(-c.margin))
}

// inLines returns the candidates that need messages.
func (d *deadlines) inLines() []*candidate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}
