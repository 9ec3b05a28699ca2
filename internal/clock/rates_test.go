package clock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const rho = protocol.DefaultRho

// A conversation is one member that exchanges datagrams with peers whose clocks run at their own rates.
type conversation struct {
	*Rates
	r    *rand.Rand
	real time.Duration
	own  float64   // rate
	peer []float64 // rates of the others, by rank; 0 is the own member
	jump []time.Duration
	inc  []protocol.Inc
}

func converse(seed uint64, own float64, peers ...float64) *conversation {
	c := &conversation{Rates: NewRates(len(peers)+1, rho), r: rand.New(rand.NewPCG(seed, 2)), own: own, peer: append([]float64{own}, peers...)}
	c.jump, c.inc = make([]time.Duration, len(c.peer)), make([]protocol.Inc, len(c.peer))
	return c
}

func (c *conversation) clock(i int) protocol.Time {
	return protocol.Time(float64(c.real)*c.peer[i]) + protocol.Time(c.jump[i]) + protocol.Time(i)*protocol.Time(time.Hour)
}

func (c *conversation) now() protocol.Time { return c.clock(0) }

// run lets a datagram go out to each peer and one come back, every 200 ms.
func (c *conversation) run(d time.Duration) {
	for end := c.real + d; c.real < end; c.real += 200 * time.Millisecond {
		start := c.real
		for i := 1; i < len(c.peer); i++ {
			a := c.clock(0)
			c.real += between(c.r, 50*time.Microsecond, 20*time.Millisecond)
			b := c.clock(i)
			c.real += between(c.r, 50*time.Microsecond, 20*time.Millisecond)
			sent := c.clock(i)
			c.real += between(c.r, 50*time.Microsecond, 20*time.Millisecond)
			c.Observe(protocol.Ident{Rank: protocol.Rank(i), Inc: c.inc[i]}, a, b, sent, c.clock(0))
			c.real = start
		}
	}
}

func TestClocksWithinRhoRaiseNoAlarm(t *testing.T) {
	for seed := range uint64(20) {
		c := converse(seed, 0.999, 1.001, 1.001, 1.001, 1.001)
		c.run(5 * time.Minute)
		if c.Alarm(c.now()) {
			t.Fatalf("seed %d: alarm, though all clocks are within ρ", seed)
		}
	}
}

func TestOwnClockBeyondRhoRaisesTheAlarm(t *testing.T) {
	for _, own := range []float64{0.997, 1.003, 0.9, 1.1} {
		c := converse(1, own, 1, 1.0005, 0.9995, 1)
		c.run(50 * time.Second)
		if c.Alarm(c.now()) {
			t.Errorf("rate %v: alarm before a minute is over", own)
		}
		c.run(40 * time.Second)
		if !c.Alarm(c.now()) {
			t.Errorf("rate %v: no alarm after a minute and a half", own)
		}
	}
}

func TestPeersBeyondRhoRaiseNoAlarmUnlessTheyAreAMajorityOnOneSide(t *testing.T) {
	for _, test := range []struct {
		peers []float64
		want  bool
	}{
		{[]float64{1.01, 1, 1, 1}, false},
		{[]float64{1.01, 1.01, 1, 1}, false},
		{[]float64{1.01, 0.99, 1.01, 0.99}, false},
		{[]float64{1.01, 1.01, 1.01, 1}, true},
		{[]float64{1.01, 1}, false},
		{[]float64{0.99, 0.99}, true},
	} {
		c := converse(3, 1, test.peers...)
		c.run(2 * time.Minute)
		if got := c.Alarm(c.now()); got != test.want {
			t.Errorf("peers at %v: alarm %v, want %v", test.peers, got, test.want)
		}
	}
}

// A virtual machine that was paused sees all its peers leap ahead.
func TestPauseThatTheOwnClockDidNotCountRaisesTheAlarm(t *testing.T) {
	c := converse(4, 1, 1, 1)
	c.run(2 * time.Minute)
	c.jump[0] -= time.Second
	c.run(time.Second)
	if !c.Alarm(c.now()) {
		t.Fatal("no alarm after the own clock stood still for a second")
	}
	c.run(5 * time.Minute)
	if c.Alarm(c.now()) {
		t.Fatal("the alarm does not end minutes after the pause")
	}
}

func TestMeasuredRateContainsTheTrueOne(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		own, peer := 1+1e-3*(2*r.Float64()-1), 1+1e-3*(2*r.Float64()-1)
		c := converse(seed, own, peer)
		c.run(time.Duration(r.Int64N(int64(10 * time.Minute))))
		got, ok := c.Of(1)
		if !ok {
			continue
		}
		if want := int64((peer/own - 1) * 1e9); got.Low > want+10 || got.High < want-10 {
			t.Fatalf("seed %d: measured %d to %d parts per billion, true rate %d", seed, got.Low, got.High, want)
		}
		if got.High-got.Low > 2_000_000 {
			t.Fatalf("seed %d: measured only to %d parts per billion over a minute", seed, got.High-got.Low)
		}
	}
}

func TestPeerThatRestartsIsMeasuredAnew(t *testing.T) {
	c := converse(5, 1, 1, 1)
	c.run(90 * time.Second)
	if _, ok := c.Of(1); !ok {
		t.Fatal("no measurement after a minute and a half")
	}
	c.inc[1]++
	c.jump[1] -= time.Hour
	c.run(30 * time.Second)
	if _, ok := c.Of(1); ok {
		t.Fatal("a measurement half a minute after the peer restarted with another clock")
	}
	c.run(time.Minute)
	if got, ok := c.Of(1); !ok || got.Low < -1_000_000 || got.High > 1_000_000 {
		t.Fatalf("measured %v %v, want about 0", got, ok)
	}
}

func TestSilentPeerIsMeasuredAnew(t *testing.T) {
	c := converse(6, 1, 1, 1)
	c.run(time.Minute)
	c.real += 10 * time.Minute
	c.run(90 * time.Second)
	if got, ok := c.Of(1); !ok || got.High-got.Low > 2_000_000 {
		t.Fatalf("measured %v %v", got, ok)
	}
}

func BenchmarkObserve(b *testing.B) {
	r := NewRates(5, rho)
	now := protocol.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1_000_000
		r.Observe(protocol.Ident{Rank: 1, Inc: 1}, now-400_000, now-200_000, now-100_000, now)
	}
}
