package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func watched() (*kernel, *Watcher) {
	k := newKernel()
	c := newReal(k.source())
	return k, newWatcher(time.Second, func() (wall, lease, suspended time.Duration) {
		lease = time.Duration(c.Now())
		wall, _ = c.src.cheap()
		return wall, lease, c.Suspended()
	})
}

func TestWatcherTellsSuspendsFromJumps(t *testing.T) {
	k, w := watched()
	k.run(time.Second)
	if n := w.Poll(); n != (Notice{}) {
		t.Errorf("nothing happened, and the watcher says %+v", n)
	}
	k.suspend(time.Hour)
	k.run(time.Second)
	if n := w.Poll(); n != (Notice{Suspended: time.Hour}) {
		t.Errorf("suspended for an hour, and the watcher says %+v", n)
	}
	k.step(10 * time.Second)
	k.run(time.Second)
	if n := w.Poll(); n != (Notice{Jumped: 10 * time.Second}) {
		t.Errorf("the wall clock jumped by 10s, and the watcher says %+v", n)
	}
	k.step(-10 * time.Second)
	k.run(time.Second)
	if n := w.Poll(); n != (Notice{Jumped: -10 * time.Second}) {
		t.Errorf("the wall clock jumped back by 10s, and the watcher says %+v", n)
	}
	k.run(time.Second)
	if n := w.Poll(); n != (Notice{}) {
		t.Errorf("nothing new happened, and the watcher says %+v", n)
	}
}

// A guest whose clocks all stood still learns of it when the host sets its wall clock right.
func TestWatcherNoticesAPauseThatOnlyTheWallClockShows(t *testing.T) {
	k, w := watched()
	k.step(2 * time.Second) // the host's doing, after a pause of 2s that no clock of the guest counted
	k.run(100 * time.Millisecond)
	if n := w.Poll(); n.Jumped != 2*time.Second {
		t.Errorf("the watcher says %+v, want a jump of 2s", n)
	}
}

func TestWatcherTakesSlewingForNoJump(t *testing.T) {
	k, w := watched()
	for _, slew := range []float64{0.1, -0.1} {
		k.slew = slew
		for range 100 {
			k.run(time.Minute)
			if n := w.Poll(); n.Jumped != 0 {
				t.Fatalf("slew %v: the watcher says %+v", slew, n)
			}
		}
	}
}

func TestWatcherOfTheRealClockSeesNothingInAnIdleMoment(t *testing.T) {
	c, err := System()
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(c, time.Minute)
	if n := w.Poll(); n != (Notice{}) {
		t.Fatalf("the watcher says %+v", n)
	}
}

func TestPackageClockFollowsFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Package()
		start := c.Now()
		time.Sleep(time.Hour)
		if got := c.Now().Sub(start); got != time.Hour {
			t.Errorf("after an hour of fake time the clock advanced by %v", got)
		}
		if got := Until(c, start.Add(2*time.Hour)); got <= 59*time.Minute || got > time.Hour {
			t.Errorf("until an hour ahead: %v", got)
		}
	})
}

func TestUntilKnowsPastAndNever(t *testing.T) {
	c := Of(func() protocol.Time { return 1000 })
	if d := Until(c, 10); d != 0 {
		t.Errorf("until the past: %v", d)
	}
	if d := Until(c, protocol.Never); d < 1<<62 {
		t.Errorf("until never: %v", d)
	}
}
