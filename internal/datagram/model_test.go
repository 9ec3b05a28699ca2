package datagram

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// The properties FA1 to FA4 under random drift, loss, delay, duplicates, reordering and restarts, against the truth.

type packet struct {
	h    Header
	sent time.Duration // of the Step, real
	at   time.Duration // arrival, real
	took time.Duration // from leaving to arrival
	id   int
}

type node struct {
	e     *Endpoint
	inc   protocol.Inc
	rate  float64
	zero  protocol.Time // what the clock showed at base
	base  time.Duration
	up    time.Duration // since
	heard map[int]protocol.Inc
	got   map[int]bool
	last  protocol.Time
}

type world struct {
	t      testing.TB
	seed   uint64
	r      *rand.Rand
	now    time.Duration
	nodes  []*node
	flying []packet
	id     int
	good   time.Duration     // delays at most this in good periods
	since  [][]time.Duration // per link: since when all its datagrams took at most good; 0 from the start
	stats  struct{ delivered, fast, checked, dup, old int }
}

const modelMin = 50 * time.Microsecond

func newWorld(t testing.TB, seed uint64, n int) *world {
	w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 7)), now: time.Hour, good: 3 * ms}
	w.since = make([][]time.Duration, n)
	for i := range n {
		w.since[i] = make([]time.Duration, n)
		w.nodes = append(w.nodes, &node{})
	}
	for i := range n {
		w.boot(i)
	}
	return w
}

func (w *world) boot(i int) {
	n := w.nodes[i]
	rates := []float64{1 - 0.001, 1 + 0.001, 1, 1 + 0.001*(2*w.r.Float64()-1)}
	// A clock may begin anywhere; after a reboot it often shows what it has shown before.
	zero := protocol.Time(w.r.Int64N(int64(time.Second)))
	if w.r.IntN(3) == 0 {
		zero = protocol.Time(w.r.Int64N(1 << 60))
	}
	*n = node{inc: n.inc + 1, rate: rates[w.r.IntN(len(rates))], base: w.now, up: w.now, zero: zero, heard: map[int]protocol.Inc{},
		got: map[int]bool{}}
	e, err := New(w.clock(i), Config{Self: protocol.Ident{Rank: protocol.Rank(i), Inc: n.inc}, Members: len(w.nodes), Start: Start{byte(n.inc), byte(n.inc >> 8)}, Rho: rho,
		Delta: 2*w.good - modelMin + 3*ms, MinDelay: modelMin})
	if err != nil {
		w.t.Fatal(err)
	}
	n.e = e
}

func (w *world) clock(i int) protocol.Time {
	n := w.nodes[i]
	now := n.zero + protocol.Time(float64(w.now-n.base)*n.rate)
	n.last = max(n.last+1, now)
	return n.last
}

// send lets a datagram leave now, whose Step was held for the given time.
func (w *world) send(from, to int, held time.Duration) {
	now := w.clock(from)
	n := w.nodes[from]
	step := now - protocol.Time(float64(held)*n.rate)
	p := packet{h: n.e.Stamp(now, step, protocol.Rank(to)), sent: w.now - held, id: w.id}
	w.id++
	took := modelMin + time.Duration(w.r.Int64N(int64(w.good-modelMin)))
	switch w.r.IntN(60) {
	case 0:
		w.since[from][to] = w.now + took // lost
		return
	case 1:
		took += time.Duration(w.r.Int64N(int64(3 * time.Second)))
		w.since[from][to] = w.now + took
	case 2:
		again := p
		again.at = w.now + modelMin + time.Duration(w.r.Int64N(int64(2*time.Second)))
		w.flying = append(w.flying, again)
	}
	p.took, p.at = took, w.now+took
	w.flying = append(w.flying, p)
}

func (w *world) deliver(p packet) {
	to, from := int(p.h.To.Rank), int(p.h.From.Rank)
	n := w.nodes[to]
	v := n.e.Accept(w.clock(to), &p.h)
	switch v.Reason {
	case Replayed:
		w.stats.dup++
	case Stale:
		w.stats.old++
	}
	truth := w.now - p.sent
	if v.Delay < truth {
		w.fail("FA1: %v took %v, and the bound is %v", p.h, truth, v.Delay)
	}
	if v.Reason != Accepted {
		return
	}
	w.stats.delivered++
	if p.h.To.Inc != n.inc || p.h.From.Inc < n.heard[from] {
		w.fail("FA4: %v was delivered to %v/%d, which had heard %d", p.h, to, n.inc, n.heard[from])
	}
	n.heard[from] = p.h.From.Inc
	if n.got[p.id] {
		w.fail("FA3: %v was delivered twice", p.h)
	}
	n.got[p.id] = true
	w.quality(from, to, p, truth, v)
}

// quality is FA2: after a good period both ways a datagram is fast.
func (w *world) quality(from, to int, p packet, truth time.Duration, v Verdict) {
	e := w.nodes[to].e
	if v.By(e.config.Delta) {
		w.stats.fast++
	}
	// A clock within ρ takes at most this for MaxAge; the probes need a little to find one another at the start.
	good := e.config.MaxAge + e.config.MaxAge/100 + 50*ms
	since := max(w.since[from][to], w.since[to][from], w.nodes[from].up, w.nodes[to].up)
	if p.took > w.good || truth > w.good || p.at != w.now || w.now-since < good {
		return
	}
	w.stats.checked++
	if !v.By(e.config.Delta) {
		w.fail("FA2: %v took %v after %v without trouble, and the bound is %v, above Δ = %v", p.h, truth, w.now-since, v.Delay, e.config.Delta)
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

// run steps through time in small random steps.
func (w *world) run(d time.Duration) {
	for end := w.now + d; w.now < end; {
		w.now += time.Duration(w.r.Int64N(int64(2 * ms)))
		sort.Slice(w.flying, func(i, j int) bool { return w.flying[i].at < w.flying[j].at })
		for len(w.flying) > 0 && w.flying[0].at <= w.now {
			p := w.flying[0]
			w.flying = w.flying[1:]
			keep := w.now
			w.now = p.at
			w.deliver(p)
			w.now = keep
		}
		i := w.r.IntN(len(w.nodes))
		j := (i + 1 + w.r.IntN(len(w.nodes)-1)) % len(w.nodes)
		switch w.r.IntN(200) {
		case 0, 1, 2, 3, 4:
			w.send(i, j, 0)
		case 5:
			w.send(i, j, min(w.now-w.nodes[i].up, time.Duration(w.r.Int64N(int64(20*ms)))))
		case 6:
			if w.r.IntN(5) == 0 {
				w.boot(i)
			}
		}
		for i, n := range w.nodes {
			if now := w.clock(i); now >= n.e.Wake() {
				for _, r := range append([]protocol.Rank(nil), n.e.Probes(now)...) {
					w.send(i, int(r), 0)
				}
			}
		}
	}
}

func TestFailAwareness(t *testing.T) {
	var sum world
	for seed := range uint64(25) {
		w := newWorld(t, seed, 3)
		w.run(20 * time.Second)
		sum.stats.delivered += w.stats.delivered
		sum.stats.fast += w.stats.fast
		sum.stats.checked += w.stats.checked
		sum.stats.dup += w.stats.dup
		sum.stats.old += w.stats.old
	}
	s := sum.stats
	if s.delivered < 10_000 || s.fast < s.delivered/2 || s.checked < 1000 || s.dup < 100 || s.old < 10 {
		t.Fatalf("too little happened to prove anything: %+v", s)
	}
}
