package sim

import (
	"math/big"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const ms = time.Millisecond

// exact is what a clock of one rate shows, in numbers without bounds.
func exact(s ClockSpec, t Real) protocol.Time {
	x := new(big.Int).Mul(big.NewInt(int64(t)), big.NewInt(billion+s.Rate))
	return s.Offset + protocol.Time(x.Div(x, big.NewInt(billion)).Int64())
}

func TestClockRunsAtItsRateFromItsOffset(t *testing.T) {
	for _, spec := range []ClockSpec{{}, {Offset: 5}, {Rate: 1_000_000}, {Offset: 1 << 55, Rate: -1_000_000}, {Rate: 500_000_000}} {
		c := NewClock(spec)
		for _, at := range []Real{0, 1, 999, 1_000_000_007, 1 << 50} {
			if got, want := c.At(at), exact(spec, at); got != want {
				t.Errorf("SIM-CLOCK: a clock %+v shows %d at %d, want %d", spec, got, at, want)
			}
		}
	}
}

// turns returns a clock with a history of rates, stops and jumps, and the instants of its turns.
func turns(d *Dice) (*Clock, Real) {
	c := NewClock(ClockSpec{Offset: protocol.Time(d.N(1000)), Rate: int64(d.N(2_000_001) - 1_000_000)})
	at := Real(0)
	for range d.N(6) {
		at += Real(1 + d.N(5000))
		switch d.N(3) {
		case 0:
			c.setRate(at, int64(d.N(1_000_000_001)-500_000_000))
		case 1:
			c.setRate(at, stopped)
		case 2:
			c.jump(at, protocol.Time(d.N(300)))
		}
	}
	return c, at
}

func TestReachIsTheFirstInstantOfALocalTime(t *testing.T) {
	d := NewDice(1, 1)
	for range 500 {
		c, end := turns(d)
		for range 50 {
			l := c.At(0) + protocol.Time(d.N(6000))
			got := c.Reach(end, l)
			want := Forever
			for at := Real(0); at < end+20_000; at++ {
				if c.At(at) >= l {
					want = at
					break
				}
			}
			if want == Forever && got > end+19_000 {
				continue
			}
			if got != want {
				t.Fatalf("SIM-CLOCK: %+v reaches %d at %v, want %v", c.segments, l, got, want)
			}
		}
	}
}

func TestClockNeverRunsBackwards(t *testing.T) {
	d := NewDice(2, 1)
	for range 200 {
		c, end := turns(d)
		for at := Real(1); at < end+1000; at += 7 {
			if c.At(at) < c.At(at-1) {
				t.Fatalf("SIM-CLOCK: %+v runs backwards at %d", c.segments, at)
			}
		}
	}
}

func TestSamplesAreStrictlyIncreasing(t *testing.T) {
	c := NewClock(ClockSpec{Offset: 10, Rate: -400_000_000})
	c.setRate(50, stopped)
	last := protocol.Time(-1)
	for at := Real(0); at < 100; at++ {
		for range 2 {
			s := c.Sample(at)
			if s <= last {
				t.Fatalf("SIM-CLOCK: sampled %d after %d at %d", s, last, at)
			}
			last = s
		}
	}
}

func TestResetStartsANewEraAndKeepsTheOldOneForPromises(t *testing.T) {
	c := NewClock(ClockSpec{Offset: protocol.Time(time.Hour)})
	c.Sample(Real(time.Second))
	c.reset(Real(2*time.Second), 0)
	if got := c.At(Real(3 * time.Second)); got != protocol.Time(time.Second) {
		t.Errorf("one second after a reboot the clock shows %v", got)
	}
	if got := c.Sample(Real(2*time.Second)) + 0; got != 0 {
		t.Errorf("the first sample after a reboot is %v, want 0", got)
	}
	promise := protocol.Time(time.Hour + 5*time.Second)
	if got := c.Reach(Real(time.Second), promise); got != Real(5*time.Second) {
		t.Errorf("a promise of the first era ends at %v, want 5s", got)
	}
	if got := c.Reach(Real(3*time.Second), protocol.Time(4*time.Second)); got != Real(6*time.Second) {
		t.Errorf("a promise of the second era ends at %v, want 6s", got)
	}
	if c.Era(Real(time.Second)) != 0 || c.Era(Real(2*time.Second)) != 1 {
		t.Error("the eras are not told apart")
	}
}

func TestQueueIsOrderedByInstantThenByAge(t *testing.T) {
	d := NewDice(3, 1)
	var q Queue[event]
	type want struct {
		at Real
		id uint64
	}
	var pending []want
	for id := uint64(1); id < 5000; id++ {
		if d.N(3) > 0 {
			at := Real(d.N(50))
			q.Push(at).id = id
			pending = append(pending, want{at, id})
			continue
		}
		if len(pending) == 0 {
			continue
		}
		first := 0
		for i, w := range pending {
			if w.at < pending[first].at {
				first = i
			}
		}
		at, e := q.Pop()
		if at != pending[first].at || e.id != pending[first].id {
			t.Fatalf("popped %d at %v, want %d at %v", e.id, at, pending[first].id, pending[first].at)
		}
		pending = append(pending[:first], pending[first+1:]...)
	}
}

func TestDrawsStayWithinTheirDistribution(t *testing.T) {
	d := NewDice(4, 1)
	plain, tail := Between(2*ms, 5*ms), Delay{Min: ms, Max: ms, Tail: Percent(50), TailStep: ms}
	low, high, longest := time.Hour, time.Duration(0), time.Duration(0)
	for range 20_000 {
		x := d.Draw(plain)
		low, high = min(low, x), max(high, x)
		longest = max(longest, d.Draw(tail))
	}
	if low < 2*ms || high > 5*ms || low > 2100*time.Microsecond || high < 4900*time.Microsecond {
		t.Errorf("even draws from 2ms to 5ms lie between %v and %v", low, high)
	}
	if longest < 5*ms || longest > 20*ms {
		t.Errorf("the longest of 20000 draws with a tail of 1ms steps is %v", longest)
	}
}

func TestStreamsOfOneSeedAreIndependent(t *testing.T) {
	a, b, again := NewDice(7, 1), NewDice(7, 2), NewDice(7, 1)
	same := 0
	for range 1000 {
		x := a.Uint64()
		if x == b.Uint64() {
			same++
		}
		if x != again.Uint64() {
			t.Fatal("the same stream of the same seed differs")
		}
	}
	if same > 0 {
		t.Errorf("two streams agree in %d of 1000 draws", same)
	}
}
