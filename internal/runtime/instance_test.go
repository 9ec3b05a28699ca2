package runtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// onLoop runs f on the loop and waits for it.
func onLoop(t *testing.T, l *Loop, f func(now protocol.Time)) {
	t.Helper()
	done := make(chan struct{})
	if err := l.Do(func(now protocol.Time) { f(now); close(done) }); err != nil {
		t.Fatal(err)
	}
	<-done
	synctest.Wait()
}

func TestMachinesComeAndGoWhileTheLoopRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		l, end := begin(&toy{}, j, nil)
		defer end()
		guest := &toy{}
		guest.script = map[string]func(protocol.Time) protocol.Effects{
			"Start": func(now protocol.Time) protocol.Effects {
				guest.wake = now.Add(time.Millisecond)
				return protocol.Effects{}
			},
			"Tick":     func(protocol.Time) protocol.Effects { return guest.say(0, "me", false) },
			"Campaign": func(protocol.Time) protocol.Effects { return guest.say(0, "too late", false) },
		}
		var at *Instance
		onLoop(t, l, func(protocol.Time) {
			var err error
			if at, err = l.Add(7, "the guest", guest, journalSink{j}); err != nil {
				t.Error(err)
			}
			if _, err := l.Add(7, "another", &toy{}, journalSink{j}); err == nil || !strings.Contains(err.Error(), "the guest") || !strings.Contains(err.Error(), "another") {
				t.Errorf("a channel that is taken: %v", err)
			}
		})
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		expect(t, "while it is there", guest.log, "Start", "Tick", "Receive me")
		onLoop(t, l, func(now protocol.Time) {
			at.Post(protocol.Campaign{})
			l.Remove(at)
			l.Remove(at)
			l.deliver(now, 7, &protocol.Receive{Message: &note{"anybody there?"}})
		})
		time.Sleep(time.Second)
		synctest.Wait()
		expect(t, "when it has gone", guest.log, "Start", "Tick", "Receive me")
		if n := l.Stats().Strays.Load(); n != 1 {
			t.Errorf("%d messages for nobody were counted", n)
		}
		onLoop(t, l, func(protocol.Time) {
			if _, err := l.Add(7, "another", &toy{}, journalSink{j}); err != nil || l.Open() != 2 {
				t.Errorf("the channel is free again: %v, %d are open", err, l.Open())
			}
		})
	})
}

// The heap of wakes against a list that is searched.
func TestHeapWakesInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a wakeHeap
	all := make([]*Instance, 50)
	for i := range all {
		all[i] = &Instance{index: -1, wake: protocol.Never, sinkWake: protocol.Never}
	}
	for range 10000 {
		i := all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0:
			i.wake = protocol.Never
		case 1:
			i.sinkWake = protocol.Time(r.IntN(1000))
		default:
			i.wake = protocol.Time(r.IntN(1000))
		}
		a.set(i)
		if r.IntN(10) == 0 {
			a.remove(i)
			i.wake, i.sinkWake = protocol.Never, protocol.Never
		}
		first := protocol.Never
		for _, i := range all {
			first = min(first, i.due())
		}
		if a.next() != first {
			t.Fatalf("next at %v, want %v", a.next(), first)
		}
		for n, i := range a {
			if i.index != n {
				t.Fatalf("an instance at %d believes to be at %d", n, i.index)
			}
		}
	}
}

// What is not due costs nothing, however much of it there is.
func TestOnlyMachinesThatAreDueAreStepped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		l, end := begin(&toy{}, j, nil)
		defer end()
		idle := make([]*toy, 100)
		onLoop(t, l, func(protocol.Time) {
			for i := range idle {
				idle[i] = &toy{}
				if _, err := l.Add(Channel(i+1), fmt.Sprint(i), idle[i], journalSink{j}); err != nil {
					t.Error(err)
				}
			}
		})
		for range 100 {
			onLoop(t, l, func(protocol.Time) { l.instances[Council].Post(protocol.Tick{}) })
		}
		for _, m := range idle {
			expect(t, "an idle machine", m.log, "Start")
		}
	})
}

func TestChannelsAreTheSameEverywhereAndNeverTheCouncils(t *testing.T) {
	if got := ChannelOf("local", "g"); got != 2614080621 {
		t.Errorf("local group g is on channel %d: members of another version expect 2614080621", got)
	}
	if ChannelOf("local", "g") == ChannelOf("eventual", "g") || ChannelOf("a", "bc") == ChannelOf("ab", "c") {
		t.Error("the mode does not count")
	}
	for i := range 100000 {
		if ChannelOf("local", fmt.Sprint(i)) == Council {
			t.Fatalf("%d is on the council's channel", i)
		}
	}
}

func TestStepOfOneOfManyMachinesDoesNotAllocate(t *testing.T) {
	j := &journal{now: func() protocol.Time { return 0 }}
	l := NewLoop(Options{Port: quiet{}, Waiter: NewChanWaiter(), Clock: func() protocol.Time { return 5 }})
	l.running = true
	for i := range 100 {
		if _, err := l.Add(Channel(i), "x", sleeper(i), journalSink{j}); err != nil {
			t.Fatal(err)
		}
	}
	r := &protocol.Receive{}
	if n := testing.AllocsPerRun(1000, func() {
		l.deliver(5, 50, r)
		l.tick()
		l.tickSinks()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// sleeper wants to be woken at an instant that never comes.
type sleeper int

func (s sleeper) Step(now protocol.Time, _ protocol.Event, out *protocol.Effects) {
	out.Wake = now.Add(time.Duration(s+1) * time.Second)
}

// quiet is a port on which nothing happens.
type quiet struct{}

func (quiet) Receive(Deliver) bool                                         { return false }
func (quiet) Send(protocol.Time, protocol.Rank, Channel, protocol.Message) {}
func (quiet) Flush() time.Duration                                         { return 0 }
func (quiet) Wake() protocol.Time                                          { return protocol.Never }
func (quiet) Rename(protocol.Inc)                                          {}
func (quiet) Restart(protocol.Time, protocol.StartBits)                    {}
func (quiet) Close() error                                                 { return nil }

func TestMessagesBearTheChannelOfTheirMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		l, end := begin(&toy{}, j, nil)
		defer end()
		var got []Channel
		l.Port = recorder{quiet{}, &got}
		m := &toy{}
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Start": func(protocol.Time) protocol.Effects { return m.say(1, "hello", false) },
		}
		onLoop(t, l, func(protocol.Time) {
			if _, err := l.Add(9, "nine", m, journalSink{j}); err != nil {
				t.Error(err)
			}
		})
		if !slices.Equal(got, []Channel{9}) {
			t.Errorf("sent on %v", got)
		}
		l.Port = j
	})
}

type recorder struct {
	quiet
	got *[]Channel
}

func (r recorder) Send(_ protocol.Time, _ protocol.Rank, c Channel, _ protocol.Message) {
	*r.got = append(*r.got, c)
}
