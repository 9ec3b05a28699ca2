package stamp

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var someQuorum = Quorum{{0, 1, 10}, {1, 1, 20}}

// at returns a clock that stands at c.
func at(c int64) func() int64 { return func() int64 { return c } }

// held returns a tenure led until end.
func held(end int64) (*Slot, *Horizon, *Tenure) {
	s, h := new(Slot), new(Horizon)
	h.Extend(end)
	t := s.NewTenure(3, 7, someQuorum)
	s.Publish(t, h, Never)
	return s, h, t
}

func TestALeaseHoldsUpToItsEndAndNotAtIt(t *testing.T) {
	_, h, te := held(100)
	for _, c := range []struct {
		now       int64
		valid     bool
		remaining time.Duration
	}{{-5, true, 105}, {0, true, 100}, {99, true, 1}, {100, false, 0}, {101, false, 0}} {
		if got := te.Valid(at(c.now)); got != c.valid {
			t.Errorf("valid at %d: %v", c.now, got)
		}
		if got := te.Remaining(at(c.now)); got != c.remaining {
			t.Errorf("remaining at %d: %v, want %v", c.now, got, c.remaining)
		}
		if _, err := te.Edict(at(c.now)); (err == nil) != c.valid || err != nil && !errors.Is(err, ErrNotLeader) {
			t.Errorf("edict at %d: %v", c.now, err)
		}
	}
	h.Extend(200)
	if !te.Valid(at(150)) || te.Until() != 200 {
		t.Error("a moved horizon does not extend the lease")
	}
	h.Extend(180)
	if te.Until() != 200 {
		t.Error("the horizon moved back")
	}
}

func TestTheLimitCapsTheHorizon(t *testing.T) {
	s, h, te := held(100)
	s.Publish(te, h, 60)
	h.Extend(500)
	if te.Valid(at(60)) || !te.Valid(at(59)) || te.Until() != 60 || te.Remaining(at(50)) != 10 {
		t.Errorf("until %d with a limit of 60", te.Until())
	}
	if _, err := te.Edict(at(60)); !errors.Is(err, ErrNotLeader) {
		t.Errorf("an edict at the limit: %v", err)
	}
}

func TestRemainingDoesNotOverflow(t *testing.T) {
	_, _, te := held(Never)
	if got := te.Remaining(at(math.MinInt64 + 1)); got != math.MaxInt64 {
		t.Errorf("remaining %d", got)
	}
}

func TestATenureThatIsOverNeverComesBack(t *testing.T) {
	s, h, old := held(100)
	s.Clear()
	next := s.NewTenure(3, 8, someQuorum)
	s.Publish(next, h, Never)
	if old.Valid(at(1)) || old.Remaining(at(1)) != 0 || old.Until() != math.MinInt64 {
		t.Error("the old tenure is valid again")
	}
	if _, err := old.Edict(at(1)); !errors.Is(err, ErrNotLeader) {
		t.Errorf("the old tenure makes edicts: %v", err)
	}
	if e, err := next.Edict(at(1)); err != nil || e.Token != 8 {
		t.Errorf("the new tenure does not: %v, %v", e, err)
	}
}

func TestARetiredHorizonEndsAllItsLeasesForGood(t *testing.T) {
	h := new(Horizon)
	h.Extend(100)
	var all []*Tenure
	for i := range 10 {
		s := new(Slot)
		all = append(all, s.NewTenure(0, uint64(i), someQuorum))
		s.Publish(all[i], h, Never)
	}
	h.Retire()
	h.Extend(200)
	for i, te := range all {
		if te.Valid(at(-1 << 40)) {
			t.Errorf("lease %d outlived its horizon", i)
		}
	}
}

func TestAZeroHorizonHasEnded(t *testing.T) {
	var s Slot
	te := s.NewTenure(0, 1, someQuorum)
	s.Publish(te, new(Horizon), Never)
	if te.Valid(at(math.MinInt64)) {
		t.Error("valid behind a horizon that was never set")
	}
}

func TestATenureBelongsToItsSlot(t *testing.T) {
	_, h, te := held(100)
	defer func() {
		if recover() == nil {
			t.Error("published in another slot")
		}
	}()
	new(Slot).Publish(te, h, Never)
}

func TestTheCounterIsTheClockSample(t *testing.T) {
	_, _, te := held(100)
	for _, c := range []struct{ now, want int64 }{{10, 10}, {11, 11}, {50, 50}, {50, 51}, {50, 52}, {52, 53}, {54, 54}} {
		e, err := te.Edict(at(c.now))
		if err != nil || e.Counter != c.want {
			t.Errorf("counter %d at %d, %v; want %d", e.Counter, c.now, err, c.want)
		}
		if e.Epoch != 3 || e.Token != 7 || e.Check() != nil {
			t.Errorf("stamp %v", e)
		}
	}
}

func TestACounterNeverReachesTheEnd(t *testing.T) {
	_, _, te := held(100)
	if e, err := te.Edict(at(99)); err != nil || e.Counter != 99 {
		t.Fatalf("%v, %v", e, err)
	}
	if e, err := te.Edict(at(99)); err == nil {
		t.Errorf("a second edict at the last instant got %v", e)
	}
	if !te.Valid(at(99)) {
		t.Error("the lease itself still runs")
	}
}

func TestCountersGoOnWhenTheLeaseIsPublishedAgain(t *testing.T) {
	s, h, te := held(100)
	first, _ := te.Edict(at(50))
	s.Publish(te, h, 90)
	second, err := te.Edict(at(50))
	if o, cerr := first.Compare(second); o != -1 || err != nil || cerr != nil {
		t.Errorf("%v then %v: %d, %v, %v", first, second, o, err, cerr)
	}
}

// Two goroutines meet: while one reads the clock the other makes an edict at a later reading. The first must not come
// back with its old sample.
func TestAnOvertakenSampleIsTakenAgain(t *testing.T) {
	_, _, te := held(100)
	var other Edict
	readings := []int64{10, 30}
	e, err := te.Edict(func() int64 {
		c := readings[0]
		readings = readings[1:]
		if c == 10 {
			other, _ = te.Edict(at(20))
		}
		return c
	})
	if err != nil || other.Counter != 20 || e.Counter != 30 {
		t.Errorf("%v after %v, %v: want counter 30", e, other, err)
	}
}

// A step is something that the member's loop does while a reader is at its clock.
type step struct {
	name string
	do   func(w *world)
}

// A world is a slot with its loop, and knows the truth about who leads.
type world struct {
	slot    *Slot
	horizon *Horizon
	tenure  *Tenure
	limit   int64
	led     bool // by tenure, as the loop sees it
}

var steps = []step{
	{"nothing", func(*world) {}},
	{"renew", func(w *world) { w.horizon.Extend(w.horizon.Until() + 100) }},
	{"demote", func(w *world) { w.slot.Clear(); w.led = false }},
	{"demote and lead again", func(w *world) {
		w.slot.Clear()
		w.slot.Publish(w.slot.NewTenure(0, 99, someQuorum), w.horizon, Never)
		w.led = false
	}},
	{"limit", func(w *world) {
		if w.led {
			w.limit = 40
			w.slot.Publish(w.tenure, w.horizon, w.limit)
		}
	}},
	{"other voters", func(w *world) {
		if w.led {
			h := new(Horizon)
			h.Extend(w.horizon.Until())
			w.horizon = h
			w.slot.Publish(w.tenure, h, w.limit)
		}
	}},
	{"retire", func(w *world) { w.horizon.Retire(); w.led = false }},
}

// leads is the truth: the member leads in the tenure at the reading c of its clock.
func (w *world) leads(c int64) bool { return w.led && c < min(w.horizon.Until(), w.limit) }

// An interleaving is what the loop does just before each clock reading of a reader, and just after it. The clock shows
// 10, 50 and then 150 with the end at 100: before the limit, between, and beyond an end that was not renewed.
func interleave(before, after [3]step, read func(w *world, now func() int64) (int64, bool)) (c int64, ok, truth bool) {
	s, h, te := held(100)
	w := &world{slot: s, horizon: h, tenure: te, limit: Never, led: true}
	n, last := 0, false
	c, ok = read(w, func() int64 {
		i := min(n, 2)
		n++
		if n <= 3 {
			before[i].do(w)
		}
		reading := [...]int64{10, 50, 150}[i]
		last = w.leads(reading)
		if n <= 3 {
			after[i].do(w)
		}
		return reading
	})
	return c, ok, last
}

// everyInterleaving calls f for all of them and returns how often the reader said yes, and how often wrongly.
func everyInterleaving(read func(w *world, now func() int64) (int64, bool)) (yes, wrong int) {
	pairs := len(steps) * len(steps)
	for x := range pairs * pairs * len(steps) {
		var before, after [3]step
		for i := range 3 {
			after[i] = steps[0]
		}
		for i := range 2 {
			before[i], after[i] = steps[x%len(steps)], steps[x/len(steps)%len(steps)]
			x /= pairs
		}
		before[2] = steps[x]
		if _, ok, truth := interleave(before, after, read); ok {
			yes++
			if !truth {
				wrong++
			}
		}
	}
	return yes, wrong
}

func TestNoInterleavingMakesAReaderSayYesWrongly(t *testing.T) {
	readers := map[string]func(w *world, now func() int64) (int64, bool){
		"Valid":     func(w *world, now func() int64) (int64, bool) { return 0, w.tenure.Valid(now) },
		"Remaining": func(w *world, now func() int64) (int64, bool) { return 0, w.tenure.Remaining(now) > 0 },
		"Edict": func(w *world, now func() int64) (int64, bool) {
			e, err := w.tenure.Edict(now)
			return e.Counter, err == nil
		},
	}
	for name, read := range readers {
		yes, wrong := everyInterleaving(read)
		if yes == 0 || wrong > 0 {
			t.Errorf("%s: %d of %d answers of yes are wrong", name, wrong, yes)
		}
	}
}

// The readers that one might write instead, each with one look too few, are all wrong somewhere above.
func TestEveryShorterReaderIsWrongInSomeInterleaving(t *testing.T) {
	shorter := map[string]func(w *world, now func() int64) (int64, bool){
		"lease loaded before the clock only": func(w *world, now func() int64) (int64, bool) {
			l := w.slot.lease.Load()
			if l == nil || l.tenure != w.tenure {
				return 0, false
			}
			end := min(l.horizon.Until(), l.limit)
			c := now()
			return c, c < end
		},
		"lease not loaded again": func(w *world, now func() int64) (int64, bool) {
			l := w.slot.lease.Load()
			if l == nil || l.tenure != w.tenure {
				return 0, false
			}
			h := l.horizon.Until()
			c := now()
			return c, h == l.horizon.Until() && c < min(h, l.limit)
		},
		"horizon not loaded again": func(w *world, now func() int64) (int64, bool) {
			l := w.slot.lease.Load()
			if l == nil || l.tenure != w.tenure {
				return 0, false
			}
			h := l.horizon.Until()
			c := now()
			return c, w.slot.lease.Load() == l && c < min(h, l.limit)
		},
		"tenure not compared": func(w *world, now func() int64) (int64, bool) {
			for {
				l := w.slot.lease.Load()
				if l == nil {
					return 0, false
				}
				h := l.horizon.Until()
				c := now()
				if w.slot.lease.Load() == l && l.horizon.Until() == h {
					return c, c < min(h, l.limit)
				}
			}
		},
	}
	for name, read := range shorter {
		if _, wrong := everyInterleaving(read); wrong == 0 {
			t.Errorf("%s: no interleaving shows the fault", name)
		}
	}
	// The clock before the lease: it says yes for a reading taken before the tenure began.
	s, h, _ := held(100)
	var te *Tenure
	c := func() int64 { c := int64(10); te = s.NewTenure(0, 8, someQuorum); s.Publish(te, h, Never); return c }()
	if l := s.lease.Load(); !(l.tenure == te && c < l.horizon.Until()) {
		t.Error("the fault of reading the clock first no longer shows")
	}
}

// Readers on many goroutines against a loop that leads, renews, demotes and leads again: no answer may rest on a clock
// reading at or after the instant at which a demotion was complete. Run with -race.
func TestReadersAgainstABusyLoop(t *testing.T) {
	var clock atomic.Int64
	now := func() int64 { return clock.Add(1) }
	type published struct {
		te   *Tenure
		over atomic.Int64 // a clock reading after the demotion was complete
	}
	var cur atomic.Pointer[published]
	s := new(Slot)
	lead := func(token uint64) {
		h := new(Horizon)
		h.Extend(Never)
		p := &published{te: s.NewTenure(0, token, someQuorum)}
		s.Publish(p.te, h, Never)
		cur.Store(p)
	}
	lead(1)
	var wg sync.WaitGroup
	var done atomic.Bool
	var edicts, refused atomic.Int64
	for range 4 {
		wg.Go(func() {
			for !done.Load() {
				p := cur.Load()
				e, err := p.te.Edict(now)
				if err != nil {
					refused.Add(1)
					continue
				}
				edicts.Add(1)
				if over := p.over.Load(); over != 0 && e.Counter > over {
					t.Errorf("edict at %d, demoted by %d", e.Counter, over)
					return
				}
			}
		})
	}
	for token := uint64(2); token < 5_000; token++ {
		p := cur.Load()
		s.Clear()
		p.over.Store(now())
		lead(token)
	}
	for edicts.Load() == 0 {
		runtime.Gosched() // a machine with one core may not have run a reader yet
	}
	done.Store(true)
	wg.Wait()
	t.Logf("%d edicts, %d refused", edicts.Load(), refused.Load())
}

// Edicts that goroutines make at once have different counters, and one that was made after another was returned has
// the higher one.
func TestConcurrentEdictsAgreeWithTheOrderInWhichTheyWereMade(t *testing.T) {
	_, _, te := held(Never)
	var clock atomic.Int64
	now := func() int64 { return clock.Add(1) / 4 } // a coarse clock: often the same reading
	var returned atomic.Int64                       // the highest counter returned so far
	returned.Store(-1)
	var wg sync.WaitGroup
	seen := make([][]int64, 4)
	for i := range seen {
		wg.Go(func() {
			for range 5_000 {
				floor := returned.Load()
				e, err := te.Edict(now)
				if err != nil || e.Counter <= floor {
					t.Errorf("counter %d after %d was returned, %v", e.Counter, floor, err)
					return
				}
				seen[i] = append(seen[i], e.Counter)
				for {
					r := returned.Load()
					if r >= e.Counter || returned.CompareAndSwap(r, e.Counter) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	all := make(map[int64]bool)
	for _, s := range seen {
		for _, c := range s {
			if all[c] {
				t.Fatalf("counter %d twice", c)
			}
			all[c] = true
		}
	}
}

func TestReadersDoNotAllocate(t *testing.T) {
	_, _, te := held(Never)
	start := time.Now()
	now := func() int64 { return int64(time.Since(start)) }
	var e Edict
	for name, f := range map[string]func(){
		"Valid":     func() { te.Valid(now) },
		"Remaining": func() { te.Remaining(now) },
		"Edict":     func() { e, _ = te.Edict(now) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if e.Check() != nil {
		t.Errorf("edict %v", e)
	}
}
