package agent

import (
	"math/rand/v2"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	sharedmemory "github.com/regentproject/regent/internal/page/shared"
	"github.com/regentproject/regent/internal/protocol"
)

// deadlines shows the programs of an agent until when they lead, on a page that they read. What it shows was announced before by the
// machine of the tenure: a frozen tenure announces nothing later, so that the page shows nothing later.
type deadlines struct {
	now      func() regent.Instant
	memory   *sharedmemory.Memory // nil: there is no page
	identity uint64               // of the page
	// moved has an element when leases were renewed since the last look.
	moved chan struct{}

	mu     sync.Mutex
	writer *page.Writer
}

// The size of the page. Memory that nothing uses costs nothing.
const (
	pageCells = 1
	pageSlots = 1 << 16
)

// maxIdentity keeps identities within what all languages read exactly from JSON.
const maxIdentity = 1<<53 - 1

// newDeadlines makes a page if the system has one.
func newDeadlines(now func() regent.Instant) *deadlines {
	d := &deadlines{now: now, moved: make(chan struct{}, 1)}
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

// renewed says that leases end later. The member's loop calls it.
func (d *deadlines) renewed() { trySignal(d.moved) }

// toHost turns an instant of the member's clock into one of the clock of the host, rounded down.
func (d *deadlines) toHost(t protocol.Time) protocol.Time {
	host, err := clock.HostLow() // first: what passes until the next line makes the result earlier
	if err != nil || t <= 0 {
		return 0
	}
	return host.Add(regent.Instant(t).Sub(d.now()))
}

// show shows a deadline that the machine has announced. The first one takes a slot, if the program reads the page and one is free.
func (c *candidate) show(until protocol.Time, first bool) {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if first && c.readsPage && d.memory != nil {
		c.slot = d.writer.Open()
	}
	if c.slot != nil {
		c.slot.Fix(d.toHost(until.Add(c.margin))) // readers take the margin off
	}
}

// hide gives the slot back: the tenure is over.
func (c *candidate) hide() {
	d := c.agent.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.slot != nil {
		c.slot.Close()
		c.slot = nil
	}
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
