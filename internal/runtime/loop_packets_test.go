package runtime

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestPacketsHaveTheirTurnAmidManyQueuedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		l, end := begin(m, j, nil)
		const many = 10 * drainLimit
		err := l.Do(func(protocol.Time) {
			for range many {
				l.instances[Council].Post(protocol.Campaign{Group: "g"})
			}
			j.mu.Lock()
			j.in = []string{"urgent"} // comes in while they are stepped
			j.mu.Unlock()
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		end()
		if len(m.log) != 1+many+1 {
			t.Fatalf("%d events were stepped: want %d", len(m.log), 1+many+1)
		}
		if at := slices.Index(m.log, "Receive urgent"); at < 0 || at > 4*drainLimit {
			t.Errorf("the packet had its turn after %d events", at)
		}
	})
}

// A flood is a port that receives packets for many more rounds after stop was called on the loop.
type flood struct {
	*journal
	stopped func() bool
	rounds  int
}

func (f *flood) Receive(Deliver) bool {
	if f.stopped() {
		f.rounds++
	}
	return f.rounds > 0 && f.rounds < 1000
}

func TestLoopThatIsFloodedCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		f := &flood{journal: j, stopped: func() bool { return false }}
		l, end := begin(&toy{}, j, func(o *Options) { o.Port = f })
		onLoop(t, l, func(protocol.Time) { f.stopped = l.stop.Load })
		end()
		if f.rounds > 2 {
			t.Errorf("it went on for %d rounds", f.rounds)
		}
	})
}

// A snapshot may be restored after a round has begun.
func TestRestoreIsNoticedBeforePacketsAreSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		var restored atomic.Bool
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Receive go": func(protocol.Time) protocol.Effects {
				restored.Store(true)
				j.wake = 0 // so that Flush shows
				return m.say(1, "promise", false)
			},
			"Restored": func(protocol.Time) protocol.Effects { return m.say(1, "question", false) },
		}
		l, end := begin(m, j, func(o *Options) {
			o.Restored = func(protocol.Time) (protocol.StartBits, bool) { return protocol.StartBits{1}, restored.Swap(false) }
		})
		j.take()
		j.mu.Lock()
		j.in = []string{"go"}
		j.mu.Unlock()
		l.Waiter.Wake()
		synctest.Wait()
		got := j.take()
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " at ")
		}
		expect(t, "a round in which a snapshot was restored", got, "send promise to b", "restart", "send question to b", "probe")
		end()
	})
}

// An oversleeper is a waiter of a process that was paused when it should have woken up.
type oversleeper struct {
	Waiter
	by time.Duration
}

func (w oversleeper) Wait(d, gather time.Duration) { w.Waiter.Wait(d+w.by, gather) }

func TestLoopReportsItsOwnPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const paused = 3 * time.Second
		var by time.Duration
		j := &journal{}
		_, end := begin(&toy{}, j, func(o *Options) {
			j.wake = o.Clock().Add(time.Second)
			o.Waiter = oversleeper{o.Waiter, paused}
			o.Paused = func(_ protocol.Time, late time.Duration) { j.wake, by = protocol.Never, late }
		})
		time.Sleep(time.Minute)
		end()
		if by < paused-time.Millisecond || by > paused+time.Second {
			t.Errorf("it slept %v too long, and reports %v", paused, by)
		}
	})
}
