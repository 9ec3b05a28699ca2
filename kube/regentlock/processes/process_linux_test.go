package processes

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/fence"
)

// timing is that of the agents: a busy host may not run an elector for longer than the usual guard.
var timing = func() regent.Timing {
	t := regent.LAN
	t.Lease, t.Guard = time.Second, 300*time.Millisecond
	return t
}()

// An event is a line of a program.
type event struct {
	who, what, arg string
	at             cluster.Time
	// admitted says of a write that the receiver took it.
	admitted bool
}

func (e event) String() string { return fmt.Sprint(e.who, " ", e.what, " ", e.arg) }

// town is a council of three agents, each with a program.
type town struct {
	*cluster.Cluster
	t      *testing.T
	mu     sync.Mutex
	events []event
	gate   fence.Gate
}

func newTown(t *testing.T, lease time.Duration) *town {
	t.Helper()
	w := &town{t: t}
	w.Cluster = cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Regent: agentCommand, Config: fmt.Sprintf("timing: {lease: %v, guard: %v}\n", timing.Lease, timing.Guard)})
	for _, name := range w.Names {
		_, err := w.StartAgent(name)
		w.must(err)
	}
	w.must(w.AwaitAgents(w.Names...))
	for _, name := range w.Names {
		cmd := cluster.Self("p"+name, w.Socket(name))()
		cmd.Env = append(os.Environ(), roleVar+"=program", leaseVar+"="+lease.String(), journalsVar+"="+w.JournalDir())
		_, err := w.Spawn("p"+name, name, cmd, func(line string) { w.take("p"+name, line) })
		w.must(err)
	}
	return w
}

func (w *town) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// take takes a line. Writes go to the receiver in the order in which they come.
func (w *town) take(who, line string) {
	f := append(strings.Fields(line), "", "", "")
	at, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := event{who: who, what: f[1], arg: f[2], at: cluster.Time(at)}
	if e.what == write {
		e.admitted = w.gate.Admit(fence.Token(token(e))) == nil
	}
	w.events = append(w.events, e)
}

func token(e event) uint64 {
	n, _ := strconv.ParseUint(e.arg, 10, 64)
	return n
}

// find returns the first event from the nth on that fits, and its number.
func (w *town) find(n int, fits func(event) bool) (event, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.events[n:], fits); i >= 0 {
		return w.events[n+i], n + i
	}
	return event{}, -1
}

// await waits for it.
func (w *town) await(what string, n int, fits func(event) bool) (event, int) {
	w.t.Helper()
	cluster.Eventually(w.t, what, func() bool { _, i := w.find(n, fits); return i >= 0 })
	return w.find(n, fits)
}

func (w *town) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.events)
}

// callbacks returns those of a program from the nth event on.
func (w *town) callbacks(n int, who string) []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []event
	for _, e := range w.events[n:] {
		if e.who == who && e.what != write && e.what != resumed {
			found = append(found, e)
		}
	}
	return found
}

// wait lets time pass.
func wait(d time.Duration) {
	time.Sleep(d) // wall clock: real processes are paused meanwhile
}

// A lease of 5 s outlasts pauses of its agent of 1.5 s: no callback of any elector is called.
func TestPausesOfAnAgentChangeNothing(t *testing.T) {
	w := newTown(t, 5*time.Second)
	lead, _ := w.await("a leader", 0, func(e event) bool { return e.what == started })
	for _, name := range w.Names {
		w.await("p"+name+" sees it", 0, func(e event) bool { return e.who == "p"+name && e.what == leader && e.arg == lead.who })
	}
	n := w.count()
	for range 50 {
		w.must(w.Pause(lead.who[1:]))
		wait(1500 * time.Millisecond)
		w.must(w.Resume(lead.who[1:]))
		wait(1500 * time.Millisecond)
	}
	for _, name := range w.Names {
		if calls := w.callbacks(n, "p"+name); len(calls) > 0 {
			t.Errorf("%v", calls)
		}
	}
	if refused, i := w.find(n, func(e event) bool { return e.what == write && !e.admitted }); i >= 0 {
		t.Errorf("refused: %v", refused)
	}
	w.Judge(t, 1, cluster.Rules{})
}

// A host stands still, with its agent and its program, until another leads. When it goes on, its elector calls OnStoppedLeading first, Valid is false
// at once, and the receiver refuses what the program writes.
func TestAPausedHostHasLost(t *testing.T) {
	w := newTown(t, time.Second)
	refused := 0
	for range 15 {
		lead := w.steady()
		n := w.count()
		w.must(w.Pause(lead.who[1:]))
		w.must(w.Pause(lead.who))
		_, at := w.await("another one writes", n, func(e event) bool { return e.what == write && token(e) > token(lead) && e.admitted })
		w.must(w.Resume(lead.who))
		w.must(w.Resume(lead.who[1:]))
		w.await(lead.who+" to stop", at, func(e event) bool { return e.who == lead.who && e.what == stopped })
		if calls := w.callbacks(at, lead.who); calls[0].what != stopped {
			t.Errorf("the callbacks after the pause: %v", calls)
		}
		w.mu.Lock()
		for _, e := range w.events[at:] {
			switch {
			case e.who != lead.who || token(e) > token(lead):
			case e.what == resumed && e.arg != "false":
				t.Errorf("the lock of %v is valid after a pause longer than its lease", e)
			case e.what == write && e.admitted:
				t.Errorf("the receiver took: %v", e)
			case e.what == write:
				refused++
			}
		}
		w.mu.Unlock()
	}
	if _, i := w.find(0, func(e event) bool { return e.what == resumed }); refused == 0 || i < 0 {
		t.Errorf("no program noticed a pause, or wrote after it (%d refused): nothing was tried", refused)
	}
	w.Judge(t, 15, cluster.Rules{})
}

// steady waits until one leads, and is known to.
func (w *town) steady() event {
	w.t.Helper()
	var lead event
	cluster.Eventually(w.t, "a leader that writes", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range slices.Backward(w.events) {
			if e.what == started {
				lead = e
				break
			}
		}
		last := slices.IndexFunc(w.events, func(e event) bool {
			return e.what == write && e.who == lead.who && token(e) == token(lead) && e.admitted
		})
		ended := slices.IndexFunc(w.events, func(e event) bool { return e.what == stopped && e.who == lead.who && e.at > lead.at })
		return lead.who != "" && last >= 0 && ended < 0
	})
	return lead
}

// An agent stands still until its lease is over. The elector beside it runs, and has stopped its program before another leads. An elector runs from
// OnStartedLeading to OnStoppedLeading.
func TestElectorsThatRunDoNotOverlap(t *testing.T) {
	w := newTown(t, 2*time.Second)
	for range 8 {
		lead := w.steady()
		n := w.count()
		w.must(w.Pause(lead.who[1:]))
		w.await("another one leads", n, func(e event) bool { return e.what == started && token(e) > token(lead) })
		w.await(lead.who+" to stop", n, func(e event) bool { return e.who == lead.who && e.what == stopped })
		w.must(w.Resume(lead.who[1:]))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.what != started {
			continue
		}
		end := slices.IndexFunc(w.events, func(x event) bool { return x.who == e.who && x.what == stopped && x.at > e.at })
		for _, x := range w.events {
			if x.what == started && x.who != e.who && x.at > e.at && (end < 0 && token(x) > token(e) && x.at > e.at || end >= 0 && x.at < w.events[end].at) {
				t.Errorf("%v at %v while %v runs since %v", x, x.at, e, e.at)
			}
		}
	}
}
