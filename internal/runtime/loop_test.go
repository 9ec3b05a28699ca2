package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// note is the toy's message: a text.
type note struct{ text string }

func (n *note) Copy() protocol.Message { c := *n; return &c }
func (n *note) Name() string           { return "toy.Note" }

// toy is a machine that does what its script says, and notes what happens to it. Each line of a script is an event and
// the effects that follow it.
type toy struct {
	script map[string]func(now protocol.Time) protocol.Effects
	// reuse is the one message that it ever sends, overwritten at each Step: what the contract allows.
	reuse note
	wake  protocol.Time
	inc   protocol.Inc
	log   []string
}

func (m *toy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.reuse.text = "overwritten"
	name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "protocol.")
	if r, ok := ev.(*protocol.Receive); ok {
		name = "Receive " + r.Message.(*note).text
	}
	m.log = append(m.log, name)
	m.wake = protocol.Never
	e := protocol.Effects{}
	if f := m.script[name]; f != nil {
		e = f(now)
	}
	if e.Wake == 0 {
		e.Wake = m.wake
	}
	drivetest.Append(out, e)
}

func (m *toy) Incarnation() protocol.Inc { return m.inc }
func (m *toy) Votes() protocol.Time      { return 0 }

// say makes the toy send a text.
func (m *toy) say(to protocol.Rank, text string, durable bool) protocol.Effects {
	m.reuse.text = text
	return protocol.Effects{Send: []protocol.Envelope{{To: to, Message: &m.reuse, Durable: durable}}}
}

// journal is a port and a sink that write down what they are asked for, in one list with the disk.
type journal struct {
	mu    sync.Mutex
	lines []string
	in    []string
	wake  protocol.Time
	now   func() protocol.Time
	sink  protocol.Time
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lines
	j.lines = nil
	return l
}

func (j *journal) Receive(deliver Deliver) bool {
	j.mu.Lock()
	in := j.in
	j.in = nil
	j.mu.Unlock()
	for _, text := range in {
		deliver(j.now(), 0, &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}, Message: &note{text}, Delay: protocol.Unknown})
	}
	return false
}

func (j *journal) Send(now protocol.Time, to protocol.Rank, _ Channel, m protocol.Message) {
	j.add("send %s to %v at %v", m.(*note).text, to, now)
}
func (j *journal) Flush() time.Duration {
	if now := j.now(); j.wake <= now {
		j.wake = protocol.Never
		j.add("probe at %v", now)
	}
	return 0
}
func (j *journal) Wake() protocol.Time     { return j.wake }
func (j *journal) Rename(inc protocol.Inc) { j.add("speak as %d", inc) }
func (j *journal) Restart(protocol.Time, protocol.StartBits) {
	j.add("restart")
}
func (j *journal) Close() error { j.add("close"); return nil }

func (j *journal) View(_ protocol.Time, v *protocol.View) { j.add("view %v", v.Group) }
func (j *journal) Horizon(_ protocol.Time, h protocol.Horizon) {
	j.add("horizon %d until %v", h.ID, h.Until)
}
func (j *journal) Answer(_ protocol.Time, a *protocol.Answer) { j.add("answer %d", a.ID) }
func (j *journal) Published(protocol.Time)                    { j.add("published") }

// journalSink is the journal as a sink.
type journalSink struct{ *journal }

func (s journalSink) Tick(now protocol.Time) protocol.Time {
	if s.sink <= now {
		s.sink = protocol.Never
		s.add("sink at %v", now)
	}
	return s.sink
}

func (j *journal) Write(record []byte) error { j.add("write %s", record); return nil }

// begin starts a loop around the toy inside a bubble and returns how to end it.
func begin(m protocol.Machine, j *journal, change func(*Options)) (*Loop, func()) {
	c := clock.Package()
	j.now, j.wake, j.sink = c.Now, protocol.Never, protocol.Never
	o := Options{Self: 0, Name: "a", Rho: protocol.DefaultRho, Clock: c.Now,
		Port: j, Waiter: NewChanWaiter(), Store: j, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	l := NewLoop(o)
	if _, err := l.Add(Council, "the council", m, journalSink{j}); err != nil {
		panic(err)
	}
	go l.Run(context.Background())
	synctest.Wait()
	return l, func() { l.Stop(); <-l.Ended(); synctest.Wait() }
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestEffectsAreCarriedOutInTheOrderOfTheContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Start": func(protocol.Time) protocol.Effects {
			out := m.say(1, "hello", false)
			out.Views = []protocol.View{{Group: "g"}, {Group: "h"}}
			out.Horizons = []protocol.Horizon{{ID: 3, Until: 7}}
			m.inc = 5
			return out
		}}
		_, end := begin(m, j, nil)
		end()
		got := j.take()
		got[5] = strings.TrimRight(got[5], "0123456789ns")
		expect(t, "effects", got, "view g", "view h", "horizon 3 until 7ns", "published", "speak as 5", "send hello to b at ", "close")
	})
}

func TestMarkedSendsWaitForTheRecordsAndOthersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		gate := make(chan struct{})
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Start": func(protocol.Time) protocol.Effects {
				out := m.say(1, "durable", true)
				out.Persist = []byte("one")
				return out
			},
			"Receive plain":   func(protocol.Time) protocol.Effects { return m.say(1, "plain", false) },
			"Receive durable": func(protocol.Time) protocol.Effects { return m.say(1, "second", true) },
			"Receive self":    func(protocol.Time) protocol.Effects { return m.say(0, "to myself", true) },
		}
		l, end := begin(m, j, func(o *Options) { o.Store = slowStore{gate, j} })
		defer end()
		j.in = []string{"plain", "durable", "self"}
		l.Waiter.Wake()
		synctest.Wait()
		if got := j.take(); len(got) != 1 || !strings.HasPrefix(got[0], "send plain") {
			t.Errorf("before the record is on disk: %q", got)
		}
		expect(t, "events before", m.log, "Start", "Receive plain", "Receive durable", "Receive self")
		close(gate)
		synctest.Wait()
		got := j.take()
		if len(got) != 3 || got[0] != "write one" || !strings.HasPrefix(got[1], "send durable") || !strings.HasPrefix(got[2], "send second") {
			t.Errorf("after: %q", got)
		}
		expect(t, "events after", m.log[4:], "Persisted", "Receive to myself")
	})
}

// slowStore writes when its gate opens.
type slowStore struct {
	gate chan struct{}
	*journal
}

func (s slowStore) Write(record []byte) error { <-s.gate; return s.journal.Write(record) }

func TestRecordsThatAreReplacedBeforeTheyAreWrittenAreConfirmedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		gate := make(chan struct{})
		persist := func(r string) func(protocol.Time) protocol.Effects {
			return func(protocol.Time) protocol.Effects { return protocol.Effects{Persist: []byte(r)} }
		}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Start": persist("1"),
			"Receive 2": persist("2"), "Receive 3": persist("3"), "Receive 4": persist("4")}
		l, end := begin(m, j, func(o *Options) { o.Store = slowStore{gate, j} })
		defer end()
		j.in = []string{"2", "3", "4"}
		l.Waiter.Wake()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		expect(t, "writes", j.take(), "write 1", "write 4")
		expect(t, "events", m.log[4:], "Persisted", "Persisted", "Persisted", "Persisted")
	})
}

func TestFailingDiskIsTriedAgainAndNothingIsConfirmedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Start": func(protocol.Time) protocol.Effects {
			out := m.say(1, "durable", true)
			out.Persist = []byte("one")
			return out
		}}
		full := &fullDisk{journal: j}
		full.full.Store(true)
		l, end := begin(m, j, func(o *Options) { o.Store = full })
		defer end()
		time.Sleep(time.Second)
		expect(t, "while it is full", j.take())
		if err := l.DiskFault(); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("the loop says %v", err)
		}
		full.full.Store(false)
		time.Sleep(retryAfter)
		synctest.Wait()
		if got := j.take(); len(got) != 2 || got[0] != "write one" {
			t.Errorf("once there is room: %q", got)
		}
		if err := l.DiskFault(); err != nil {
			t.Errorf("the loop still says %v", err)
		}
		expect(t, "events", m.log, "Start", "Persisted")
	})
}

type fullDisk struct {
	full atomic.Bool
	*journal
}

func (d *fullDisk) Write(record []byte) error {
	if d.full.Load() {
		return errors.New("no room")
	}
	return d.journal.Write(record)
}

func TestWithoutAStoreRecordsCountAsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Start": func(protocol.Time) protocol.Effects {
			return protocol.Effects{Persist: []byte("x")}
		}}
		_, end := begin(m, j, func(o *Options) { o.Store = nil })
		end()
		expect(t, "events", m.log, "Start", "Persisted")
	})
}

func TestTicksComeAtTheWakeAndNeverBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		var ticks []protocol.Time
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Start": func(now protocol.Time) protocol.Effects {
				return protocol.Effects{Wake: protocol.Time(5 * time.Millisecond)}
			},
			"Tick": func(now protocol.Time) protocol.Effects {
				ticks = append(ticks, now)
				return protocol.Effects{Wake: protocol.Time(5+5*len(ticks)) * protocol.Time(time.Millisecond)}
			},
		}
		l, end := begin(m, j, nil)
		time.Sleep(52 * time.Millisecond)
		end()
		if len(ticks) != 10 {
			t.Fatalf("%d ticks: want 10: %v", len(ticks), ticks)
		}
		for i, at := range ticks {
			want := protocol.Time(5+5*i) * protocol.Time(time.Millisecond)
			if at < want || at > want.Add(time.Microsecond) {
				t.Errorf("tick %d came at %v: want %v", i, at, want)
			}
		}
		if l.Stats().Late.Count() == 0 || l.Stats().Late.Longest() > time.Millisecond {
			t.Errorf("lateness: %d waits, longest %v", l.Stats().Late.Count(), l.Stats().Late.Longest())
		}
	})
}

func TestPortAndSinkAreCalledWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Campaign": func(now protocol.Time) protocol.Effects {
				j.wake, j.sink = now.Add(time.Millisecond), now.Add(2*time.Millisecond)
				return protocol.Effects{Views: []protocol.View{{Group: "g"}}}
			},
		}
		l, end := begin(m, j, nil)
		if err := l.Do(func(protocol.Time) { l.instances[Council].Post(protocol.Campaign{Group: "g"}) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		end()
		got := j.take()
		if len(got) != 5 || got[1] != "published" || !strings.HasPrefix(got[2], "probe at 1.0") || !strings.HasPrefix(got[3], "sink at 2.0") {
			t.Errorf("got %q", got)
		}
	})
}

func TestMessageToOneselfIsACopyWithTheDelayThatItHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Start": func(protocol.Time) protocol.Effects { return m.say(0, "me", false) },
		}
		_, end := begin(m, j, nil)
		end()
		expect(t, "events", m.log, "Start", "Receive me")
	})
}

func TestCallsRunOnTheLoopAndFailOnceItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		l, end := begin(m, j, nil)
		var group sync.WaitGroup
		calls := 0 // without a lock: the loop's goroutine alone touches it
		for range 8 {
			group.Go(func() {
				for range 500 {
					if err := l.Do(func(protocol.Time) { calls++ }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if err := l.Do(func(protocol.Time) { l.instances[Council].Post(protocol.Campaign{Group: "g"}) }); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		end()
		if calls != 4000 {
			t.Errorf("%d calls ran: want 4000", calls)
		}
		expect(t, "events", m.log, "Start", "Campaign")
		if err := l.Do(func(protocol.Time) {}); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestRecordAskedForBeforeTheEndIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Resign": func(protocol.Time) protocol.Effects {
			return protocol.Effects{Persist: []byte("last")}
		}}
		l, _ := begin(m, j, nil)
		_ = l.Do(func(protocol.Time) { l.instances[Council].Post(protocol.Resign{}); l.Stop() })
		<-l.Ended()
		synctest.Wait()
		got := j.take()
		if !slices.Contains(got, "write last") {
			t.Errorf("got %q", got)
		}
	})
}

// Views name members of the configuration in force: another one is adopted before they are shown.
func TestCouncilIsAdoptedBeforeItsViewsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		m := &toy{inc: 1, script: map[string]func(protocol.Time) protocol.Effects{"Start": func(protocol.Time) protocol.Effects {
			return protocol.Effects{Views: []protocol.View{{Group: "g"}}}
		}}}
		_, end := begin(m, j, func(o *Options) { o.Adopt = func(protocol.Time) { j.add("adopt") } })
		synctest.Wait()
		end()
		if lines := j.take(); slices.Index(lines, "adopt") != 0 || !slices.Contains(lines, "view g") {
			t.Errorf("what happened: %q", lines)
		}
	})
}
