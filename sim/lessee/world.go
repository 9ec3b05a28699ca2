package lessee

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lessee"
	"github.com/regentproject/regent/sim"
)

// real is an instant of real time.
type real = time.Duration

// Config is what a run consists of.
type Config struct {
	Seed       uint64
	Contenders int
	// Faulty is for how long there are faults; the run goes on without any for Healed.
	Faulty, Healed time.Duration
}

// Coverage counts what has happened, because a clean run in which nothing happened shows nothing.
type Coverage struct {
	Elections, Renewals, Takeovers, Releases, Lapses, Withdrawals, LostAnswers, LostRequests, Deletions, Crashes, Pauses, Expired, Replaced int
}

func (c *Coverage) add(o *Coverage) {
	c.Elections += o.Elections
	c.Renewals += o.Renewals
	c.Takeovers += o.Takeovers
	c.Releases += o.Releases
	c.Lapses += o.Lapses
	c.Withdrawals += o.Withdrawals
	c.LostAnswers += o.LostAnswers
	c.LostRequests += o.LostRequests
	c.Deletions += o.Deletions
	c.Crashes += o.Crashes
	c.Pauses += o.Pauses
	c.Expired += o.Expired
	c.Replaced += o.Replaced
}

const (
	ttl   = 1000 * time.Millisecond
	renew = 250 * time.Millisecond
	// deviation is the bound of the clocks. It is larger than that of real ones, so that arithmetic without it is found out.
	deviation protocol.Rho = 50_000_000
)

// A world is one run.
type world struct {
	cfg    Config
	rng    *rand.Rand
	now    real
	queue  sim.Queue[func()]
	procs  []*proc
	store  store
	last   uint64 // highest token so far
	cover  Coverage
	faults bool
	err    error
}

// A store has one entry.
type store struct {
	entry lessee.Entry
	token uint64
	down  bool
}

// A proc is one process.
type proc struct {
	id      int
	world   *world
	machine *lessee.Machine
	life    int // counts its starts
	// rate and offset make its clock: offset + rate * real time.
	rate   float64
	offset time.Duration
	// paused is until when it takes no event.
	paused real
	armed  protocol.Time
	ticks  int
	tries  int
	// leads says that it may act, until its clock shows until.
	leads bool
	until protocol.Time
	wants bool
	// frozen says that its lease is to run out.
	frozen bool
}

func (p *proc) clock(t real) protocol.Time {
	return protocol.Time(p.offset + time.Duration(float64(t)*p.rate))
}

// realOf returns the real time at which the clock shows an instant, rounded down.
func (p *proc) realOf(t protocol.Time) real {
	return time.Duration(float64(time.Duration(t)-p.offset) / p.rate)
}

// Run plays a run.
func Run(c Config) (Coverage, error) {
	w := &world{cfg: c, rng: rand.New(rand.NewPCG(c.Seed, 1)), faults: true}
	for i := range c.Contenders {
		p := &proc{id: i, world: w}
		w.procs = append(w.procs, p)
		p.start()
	}
	w.after(0, w.disturb)
	w.after(c.Faulty, w.heal)
	w.run(c.Faulty)
	before := w.cover.Elections
	w.run(c.Faulty + c.Healed)
	if w.err == nil && w.cover.Elections == before && !w.led() {
		w.fail("SomebodyLeads: nobody led for %v after the last fault", c.Healed)
	}
	return w.cover, w.err
}

func (w *world) led() bool {
	for _, p := range w.procs {
		if p.leads {
			return true
		}
	}
	return false
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("seed %d, at %v: %s", w.cfg.Seed, w.now, fmt.Sprintf(format, args...))
	}
}

// run plays until an instant.
func (w *world) run(until real) {
	for w.err == nil && w.queue.Due(sim.Real(until)) {
		at, do := w.queue.Pop()
		w.now = real(at)
		do()
	}
	w.now = max(w.now, until)
}

func (w *world) after(d time.Duration, f func()) {
	*w.queue.Push(sim.Real(w.now + max(0, d))) = f
}

// upTo draws a length of time.
func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// disturb lets something happen, again and again.
func (w *world) disturb() {
	if !w.faults {
		return
	}
	p := w.procs[w.rng.IntN(len(w.procs))]
	switch w.rng.IntN(12) {
	case 0:
		p.crash()
	case 1, 2, 3:
		w.cover.Pauses++
		p.paused = w.now + w.upTo(3*ttl)
	case 4:
		w.store.down = true
		w.after(w.upTo(2*ttl), func() { w.store.down = false })
	case 5:
		w.cover.Deletions++
		w.store.entry = lessee.Entry{}
	case 6, 7, 8:
		p.release()
	case 9:
		p.letRunOut()
	default:
		p.withdraw()
	}
	w.after(w.upTo(ttl), w.disturb)
}

func (w *world) heal() {
	w.faults, w.store.down = false, false
	for _, p := range w.procs {
		p.campaign()
	}
}

// send carries a request to the store, and its answer back.
func (w *world) send(p *proc, r lessee.Request) {
	life := p.life
	up, down, lost, mute := w.upTo(20*time.Millisecond), w.upTo(20*time.Millisecond), false, false
	if w.faults {
		if w.chance(0.2) {
			up = w.upTo(2 * ttl)
		}
		if w.chance(0.2) {
			down = w.upTo(2 * ttl)
		}
		lost, mute = w.chance(0.05), w.chance(0.1)
	}
	failed := func() { p.answer(life, lessee.Answer{ID: r.ID, Failed: true}) }
	if lost {
		w.cover.LostRequests++
		w.after(w.upTo(ttl), failed)
		return
	}
	w.after(up, func() {
		if w.store.down {
			w.after(w.upTo(ttl), failed)
			return
		}
		a := w.store.answer(r)
		if mute {
			w.cover.LostAnswers++
			w.after(w.upTo(ttl), failed)
			return
		}
		w.after(down, func() { p.answer(life, a) })
	})
}

// answer carries a request out.
func (s *store) answer(r lessee.Request) lessee.Answer {
	a := lessee.Answer{ID: r.ID}
	if r.Swap && s.entry.Token == r.Old.Token && s.entry.Beat == r.Old.Beat {
		a.Swapped = true
		s.entry = r.New
		if s.entry.Token == 0 {
			s.token++
			s.entry.Token = s.token
		}
	}
	a.Entry = s.entry
	return a
}
