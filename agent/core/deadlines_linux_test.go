package core

import (
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
)

// hookedWords is memory that lets a test act around a store.
type hookedWords struct {
	words         []uint64
	before, after func(i int)
}

func (w *hookedWords) Len() int          { return len(w.words) }
func (w *hookedWords) Load(i int) uint64 { return w.words[i] }
func (w *hookedWords) Store(i int, v uint64) {
	if w.before != nil {
		w.before(i)
	}
	w.words[i] = v
	if w.after != nil {
		w.after(i)
	}
}

// shownOnWords returns a candidate whose slot names a horizon.
func shownOnWords(t *testing.T) (*hookedWords, *deadlines, *Candidate) {
	t.Helper()
	w := &hookedWords{words: make([]uint64, page.Size(2, 2))}
	writer, err := page.NewWriter(w, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{}
	d := newDeadlines(a)
	d.now, d.writer = func() protocol.Time { return protocol.Time(time.Hour) }, writer
	a.deadlines = d
	d.Extended(1, end(100))
	if d.horizon(1).cell == nil {
		t.Fatal("the horizon has no cell: this system has no page")
	}
	c := &Candidate{agent: a, Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}}
	d.Behind("g", 1, 1)
	c.enterPage(1, func() bool { return true })
	if c.slot.Load() == nil {
		t.Fatal("the candidate has no slot")
	}
	return w, d, c
}

// end returns an instant so many milliseconds after that of the clock.
func end(ms int) protocol.Time {
	return protocol.Time(time.Hour).Add(time.Duration(ms) * time.Millisecond)
}

// The member renews a lease while the agent freezes what it shows. What a reader can accept before the fixed end is stored counts.
func TestFreezeFindsWhatReadersCouldSee(t *testing.T) {
	w, d, c := shownOnWords(t)
	w.before = func(int) { // a reader stops after it has seen this, and before the fixed end is stored
		w.before = nil
		d.Extended(1, end(200))
	}
	if got := c.fix(); got != end(200) {
		t.Errorf("the freeze finds %v, and a reader may have seen %v", got, end(200))
	}
	d.Extended(1, end(300))
	if got, _ := c.shown(); got != end(200) {
		t.Errorf("%v is shown after the freeze", got)
	}

	w, d, c = shownOnWords(t)
	var got protocol.Time
	w.after = func(int) { // a reader can see the renewal from here on
		w.after = nil
		got = c.fix()
	}
	d.Extended(1, end(200))
	if got != end(200) {
		t.Errorf("the freeze finds %v while a reader may see %v", got, end(200))
	}
}

// A lease that leaves its horizon, is capped or ends keeps what was shown, and gains nothing later.
func TestWhatWasShownStaysAnnounced(t *testing.T) {
	_, d, c := shownOnWords(t)
	d.Fixed("g", 1, end(80))
	d.Extended(1, end(200))
	if got, _ := c.shown(); got != end(100) || c.current() != end(80) {
		t.Errorf("%v is announced and %v is shown, want 100 and 80 ms", got, c.current())
	}
	d.Behind("g", 1, 2)
	d.Extended(2, end(150))
	if got, _ := c.shown(); got != end(150) {
		t.Errorf("%v is announced behind the other horizon", got)
	}
	d.Ended("g", 1)
	d.Extended(2, end(300))
	if got := c.fix(); got != end(150) || c.current() != 0 {
		t.Errorf("%v is announced and %v is shown after the end", got, c.current())
	}
}

// The machine waits for what was shown when it froze. A later end of the lease, such as that of a group that is given up, is not announced any more.
func TestFrozenDeadlineGainsNothing(t *testing.T) {
	_, d, c := shownOnWords(t)
	if got := c.fix(); got != end(100) {
		t.Fatalf("the freeze finds %v", got)
	}
	d.Extended(1, end(200))
	d.Fixed("g", 1, end(200))
	if got, _ := c.shown(); got != end(100) || c.readable() != end(100) {
		t.Errorf("%v is announced and %v readable after the freeze", got, c.readable())
	}
	d.Behind("g", 1, 1)
	if got := c.fix(); got != end(100) || c.readable() != end(100) {
		t.Errorf("%v is announced and %v readable behind a horizon", got, c.readable())
	}
}

// The member's loop may renew leases before Join has returned. Programs that lead then must not wait for the next renewal.
func TestPageShowsWhatWasRenewedDuringTheJoin(t *testing.T) {
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{clock: own}
	d := newDeadlines(a)
	if d.memory == nil {
		t.Fatal("this system has no page")
	}
	slot := d.writer.Open()
	d.Extended(1, own.Now().Add(time.Hour))
	slot.Follow(d.horizon(1).cell)
	host, err := clock.HostHigh()
	if err != nil {
		t.Fatal(err)
	}
	if left := slot.Until().Sub(host); left < time.Hour-time.Minute || left > time.Hour {
		t.Errorf("the page shows a lease of an hour that ends in %v", left)
	}
}

// A suspend voids a lease, and the member may lose it, after the deadline was frozen: readers find at once that it is over. The machine still
// waits for what they may have seen before.
func TestFrozenDeadlineIsVoided(t *testing.T) {
	for name, void := range map[string]func(*deadlines, *Candidate){
		"by the machine": func(_ *deadlines, c *Candidate) { c.void() },
		"by the member":  func(d *deadlines, _ *Candidate) { d.Ended("g", 1) },
	} {
		_, d, c := shownOnWords(t)
		if got := c.fix(); got != end(100) {
			t.Fatalf("%s: the freeze finds %v", name, got)
		}
		if c.slot.Load().Until() == 0 {
			t.Fatalf("%s: the frozen slot shows nothing", name)
		}
		void(d, c)
		if got := c.slot.Load().Until(); got != 0 {
			t.Errorf("%s: the slot of a lease that is over shows %v", name, got)
		}
		if got, _ := c.shown(); got != end(100) || c.fix() != end(100) || c.readable() != end(100) {
			t.Errorf("%s: %v is announced after the end", name, got)
		}
	}
}

// Clocks are slow calls, and an ordinary goroutine may lose the processor in one. The member's loop must not wait for that.
func TestNoClockIsReadUnderTheLoopsLock(t *testing.T) {
	_, d, c := shownOnWords(t)
	reads := 0
	d.now = func() protocol.Time {
		reads++
		if !d.mu.TryLock() {
			t.Error("a clock is read while the loop may wait")
			return protocol.Time(time.Hour)
		}
		d.mu.Unlock()
		return protocol.Time(time.Hour)
	}
	d.Extended(2, end(120))
	d.Behind("g", 1, 2)
	d.Fixed("g", 1, end(90))
	c.fix()
	c.void()
	c.hide()
	d.Fixed("h", 1, end(100))
	other := &Candidate{agent: c.agent, Candidacy: Candidacy{Candidate: session.Candidate{Group: "h"}}}
	other.enterPage(1, func() bool { return d.now() < end(100) })
	if other.slot.Load() == nil || reads == 0 {
		t.Errorf("slot %v after %d readings", other.slot.Load(), reads)
	}
}

// Those that only look take no lock, and the loop takes none that is held for long.
func TestLooksAndTheLoopDoNotWait(t *testing.T) {
	for name, held := range map[string]func(*deadlines, *Candidate) (sync.Locker, func()){
		"looks": func(d *deadlines, c *Candidate) (sync.Locker, func()) {
			return &d.mu, func() {
				d.Extended(1, end(150))
				c.shown()
				c.readable()
				c.OnPage()
				c.watch()
				d.inLines()
			}
		},
		"the loop": func(d *deadlines, c *Candidate) (sync.Locker, func()) {
			return &d.books, func() {
				d.Extended(2, end(150))
				d.Behind("g", 1, 2)
				d.Fixed("g", 1, end(100))
				d.Fixed("h", 1, end(100))
				d.Ended("g", 1)
				d.Dropped(2)
			}
		},
	} {
		_, d, c := shownOnWords(t)
		lock, act := held(d, c)
		lock.Lock()
		done := make(chan struct{})
		go func() { act(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second): // wall clock: only a failure waits
			t.Errorf("%s: waits for a lock", name)
		}
		lock.Unlock()
		<-done
	}
}

// A lease that is over may have a successor with the same token, which another candidate leads.
func TestSlotOfALeaseThatIsOverIsGivenBack(t *testing.T) {
	_, d, c := shownOnWords(t)
	c.hide()
	first := &Candidate{agent: c.agent, Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}}
	first.enterPage(1, func() bool { return false })
	if got, shown := first.shown(); shown || got != 0 {
		t.Errorf("a lease that is over is shown until %v", got)
	}
	second := &Candidate{agent: c.agent, Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}}
	second.enterPage(1, func() bool { return true })
	if got, _ := second.shown(); got != end(100) {
		t.Errorf("its successor is shown until %v", got)
	}
	l := d.lease(leaseName{"g", 1})
	second.hide()
	d.Ended("g", 1)
	slot := d.openSlot()
	if slot == nil || first.takeSlot(slot, l) {
		t.Error("a lease that has ended gets a slot")
	}
}
