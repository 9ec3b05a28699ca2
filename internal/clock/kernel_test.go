package clock

import (
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A kernel is a fake operating system: it knows the truth about all its clocks, and lets things happen between any two
// readings of them.
type kernel struct {
	raw       time.Duration // the machine's running time, undisciplined
	mono      time.Duration // the same, disciplined
	suspended time.Duration
	wallOff   time.Duration // wall time less boot time
	slew      float64       // rate of mono against raw, less 1
	rest      float64       // what mono owes to rounding
	onRead    func()        // before each single reading of a clock
}

func (k *kernel) run(d time.Duration) {
	k.raw += d
	exact := float64(d)*(1+k.slew) + k.rest
	k.mono += time.Duration(exact)
	k.rest = exact - float64(time.Duration(exact))
}

func (k *kernel) suspend(d time.Duration) { k.suspended += d }

func (k *kernel) truth() protocol.Time { return protocol.Time(k.raw + k.suspended) }

func (k *kernel) step(d time.Duration) { k.wallOff += d }

func (k *kernel) source() source {
	return source{
		cheap: func() (wall, mono time.Duration) {
			k.onRead()
			wall = k.mono + k.suspended + k.wallOff
			k.onRead()
			return wall, k.mono
		},
		raw:  func() time.Duration { k.onRead(); return k.raw },
		boot: func() time.Duration { k.onRead(); return k.mono + k.suspended },
	}
}

// continuous is a source as on macOS: raw time counts suspend.
func (k *kernel) continuous() source {
	s := k.source()
	s.raw = func() time.Duration { k.onRead(); return k.raw + k.suspended }
	s.boot = nil
	return s
}

// coarse is a source as on Windows: nothing is cheap.
func (k *kernel) coarse() source {
	s := k.continuous()
	s.cheap = nil
	return s
}

func newKernel() *kernel {
	return &kernel{raw: time.Hour, mono: 61 * time.Minute, suspended: 3 * time.Hour, wallOff: 50 * 365 * 24 * time.Hour, onRead: func() {}}
}

// between draws a length of time whose order of magnitude is uniform.
func between(r *rand.Rand, lo, hi time.Duration) time.Duration {
	d := lo
	for d < hi && r.IntN(2) == 0 {
		d *= 4
	}
	return min(hi, lo+time.Duration(r.Int64N(int64(d))))
}
