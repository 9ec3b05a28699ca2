package cluster

import (
	"slices"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

// A Watch is a cluster of members whose events a test reads, one after the other. It keeps what the test asks for later.
type Watch struct {
	*Cluster
	t T
	// Each is called with each event that is read; nil: nothing is.
	Each func(*Event)
	// Last is the last leadership that began, of those that are not local.
	Last Event
	// stopped is when the programs of leaderships had to stop, by token.
	stopped map[uint64]Time
	// starts and joins count how often members were started and took part.
	starts, joins map[string]int
}

// OpenWatch makes a cluster for a test that reads its events. The test fails if by the journals two led a group at once, unless they
// were local leaders without a supporter in common, or if tokens did not grow.
func OpenWatch(t T, o Options) *Watch {
	t.Helper()
	c := Open(t, o)
	t.Cleanup(func() { c.Judge(t, 0, Rules{Together: journal.LocalApart}) }) // before the cluster is closed
	return &Watch{Cluster: c, t: t, stopped: make(map[uint64]Time), starts: make(map[string]int), joins: make(map[string]int)}
}

// Must fails the test if something could not be done.
func (w *Watch) Must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

// Begin starts members.
func (w *Watch) Begin(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.Must(w.Start(name))
		w.starts[name]++
	}
}

// BeginAll starts all members and waits until they take part: a council begins only with all its members.
func (w *Watch) BeginAll() {
	w.t.Helper()
	w.Begin(w.Names...)
	w.Joined(w.Names...)
}

// Await waits for an event.
func (w *Watch) Await(what string, match func(*Event) bool) Event {
	w.t.Helper()
	limit := time.After(Patience)
	for {
		select {
		case e := <-w.Events():
			w.note(&e)
			if match(&e) {
				return e
			}
		case <-limit:
			w.t.Fatalf("waited %v in vain for %s", Patience, what)
		}
	}
}

func (w *Watch) note(e *Event) {
	if w.Each != nil {
		w.Each(e)
	}
	switch {
	case e.What == Joined:
		w.joins[e.Member]++
	case e.What == Failed:
		w.t.Logf("%s failed: %s", e.Member, e.Text)
	case e.Local:
	case e.What == Leads:
		w.Last = *e
	case e.What == Stops:
		w.stopped[e.Token] = e.At
	}
}

// Leader waits for the next leader after the given token.
func (w *Watch) Leader(after uint64) Event {
	w.t.Helper()
	if w.Last.Token <= after {
		w.Await("a leader", func(*Event) bool { return w.Last.Token > after })
	}
	return w.Last
}

// Stopped waits until the program of a leadership had to stop, and returns when that was.
func (w *Watch) Stopped(token uint64) Time {
	w.t.Helper()
	for w.stopped[token] == 0 {
		w.Await("the old leader to stop", func(e *Event) bool { return e.What == Stops })
	}
	return w.stopped[token]
}

// Joined waits until members take part, each as often as Begin has started it.
func (w *Watch) Joined(names ...string) {
	w.t.Helper()
	for _, n := range names {
		for w.joins[n] < w.starts[n] {
			w.Await(n+" to join", func(e *Event) bool { return e.What == Joined })
		}
	}
}

// Failed waits until a member that Begin has started reports that it could not join, and returns what it reports.
func (w *Watch) Failed(name string) string {
	w.t.Helper()
	e := w.Await(name+" to fail", func(e *Event) bool { return e.What == Failed && e.Member == name })
	w.Await("the process of "+name+" to end", func(e *Event) bool { return e.What == Gone && e.Member == name })
	w.starts[name] = w.joins[name]
	return e.Text
}

// StatusOf asks a member how it is.
func (w *Watch) StatusOf(name string) Event {
	w.t.Helper()
	w.Must(w.Say(name, "status"))
	return w.Await("the status of "+name, func(e *Event) bool { return e.What == Said && e.Member == name })
}

// Others returns all members but one.
func (w *Watch) Others(name string) []string {
	return slices.DeleteFunc(slices.Clone(w.Names), func(n string) bool { return n == name })
}

// Quiet fails the test if a member begins to lead within a while.
func (w *Watch) Quiet(d time.Duration) {
	w.t.Helper()
	end := time.After(d)
	for {
		select {
		case e := <-w.Events():
			w.note(&e)
			if e.What == Leads {
				w.t.Errorf("%s leads with token %d", e.Member, e.Token)
			}
		case <-end:
			return
		}
	}
}
