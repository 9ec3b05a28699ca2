package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// abandon makes a cluster and reports where it is; it is nil where no test kills one.
var abandon func(hosts string)

func TestMain(m *testing.M) {
	Main()
	if hosts := os.Getenv("REGENT_TEST_ABANDON"); hosts != "" {
		abandon(hosts)
	}
	if os.Getenv("REGENT_TEST_READING") != "" {
		fmt.Println(int64(Now()))
		return
	}
	os.Exit(m.Run())
}

// await waits for an event of a cluster.
func await(t *testing.T, w *Cluster, match func(*Event) bool) Event {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e := <-w.Events():
			if match(&e) {
				return e
			}
		case <-limit:
			t.Fatalf("waited too long; members logged:\n%s", w.Logs())
		}
	}
}

// awaitAll waits until each condition has matched an event.
func awaitAll(t *testing.T, w *Cluster, missing ...func(*Event) bool) {
	t.Helper()
	await(t, w, func(e *Event) bool {
		missing = slices.DeleteFunc(missing, func(match func(*Event) bool) bool { return match(e) })
		return len(missing) == 0
	})
}

func TestMembersObey(t *testing.T) {
	w := Open(t, Options{Names: []string{"a", "b", "c"}, Timing: calm, Command: Child(), Groups: OneGroup, Relay: true, Poll: time.Millisecond})
	for _, n := range w.Names {
		if err := w.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Start("a"); err == nil {
		t.Error("a member was started twice")
	}
	var leads Event
	awaitAll(t, w, func(e *Event) bool { return e.What == Joined && e.Member == "c" }, // or it would not end in good order
		func(e *Event) bool {
			if e.What == Leads {
				leads = *e
			}
			return e.What == Leads
		})
	if err := w.Say(leads.Member, "resign"); err != nil {
		t.Fatal(err)
	}
	var did, held bool
	await(t, w, func(e *Event) bool {
		did = did || e.What == Did && e.Text == "resign"
		// The leadership may be too short for a second look at the lease: then nothing lies between Since and Until.
		held = held || e.What == Held && e.Token == leads.Token && e.Since > 0 && e.Until > 0
		return did && held
	})
	if err := w.Say(leads.Member, "dance"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func(e *Event) bool { return e.What == Failed && strings.Contains(e.Text, "no such command") })
	states := func(name, state string, cut bool) {
		t.Helper()
		if s, c := w.State(name); s != state || c != cut {
			t.Errorf("%s is %s, cut %v: want %s, %v", name, s, c, state, cut)
		}
	}
	for _, do := range []func(string) error{w.Pause, w.Cut} {
		if err := do("b"); err != nil {
			t.Fatal(err)
		}
	}
	states("b", "paused", true)
	for _, do := range []func(string) error{w.Heal, w.Resume} {
		if err := do("b"); err != nil {
			t.Fatal(err)
		}
	}
	states("b", "running", false)
	if err := w.Crash("b"); err != nil || w.Pid("b") != 0 {
		t.Errorf("crash: %v, pid %d", err, w.Pid("b"))
	}
	states("b", "gone", false)
	for _, err := range []error{w.Crash("b"), w.Pause("b"), w.Say("b", "status"), w.Cut("nobody"), w.Unplug("a")} {
		if err == nil {
			t.Error("something was done to a member that is not there")
		}
	}
	w.Stop("c", 5*time.Second)
	await(t, w, func(e *Event) bool { return e.What == Closed && e.Member == "c" })
}

func TestServeExplainsItselfToPeople(t *testing.T) {
	if status := Serve(strings.NewReader("hello\n"), io.Discard, io.Discard); status != 2 {
		t.Errorf("status %d", status)
	}
	order, err := json.Marshal(Order{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if status := Serve(bytes.NewReader(append(order, '\n')), &out, io.Discard); status != 1 || !strings.Contains(out.String(), "council of 0 members") {
		t.Errorf("status %d: %s", status, out.String())
	}
}

func TestJournalOfAKilledProgramCanBeRead(t *testing.T) {
	w := Open(t, Options{Names: []string{"a"}, Timing: calm, Command: Child(), Groups: OneGroup, Poll: time.Millisecond})
	if err := w.Start("a"); err != nil {
		t.Fatal(err)
	}
	leads := await(t, w, func(e *Event) bool { return e.What == Leads })
	Eventually(t, "the lease was seen valid twice", func() bool {
		s, err := w.LastSpan("a", "g")
		return err == nil && s.Seen > s.Since
	})
	if err := w.Crash("a"); err != nil {
		t.Fatal(err)
	}
	s, err := w.LastSpan("a", "g")
	if err != nil {
		t.Fatal(err)
	}
	if s.Token != leads.Token || s.Since > leads.At || s.Seen > Now() || s.Until != 0 {
		t.Errorf("a led with token %d; its journal has %+v", leads.Token, s)
	}
}

func TestEventuallyNamesWhatItWaitedFor(t *testing.T) {
	n := 0
	if err := Wait(time.Minute, "three", func() bool { n++; return n == 3 }); err != nil || n != 3 {
		t.Errorf("%v after %d looks", err, n)
	}
	if err := Wait(0, "the moon", func() bool { return false }); err == nil || !strings.Contains(err.Error(), "the moon") {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsLeftOfAClusterThatIsClosed(t *testing.T) {
	w, err := New(Options{Names: []string{"a"}, Timing: calm, Command: Child(), Groups: OneGroup})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start("a"); err != nil {
		t.Fatal(err)
	}
	pid := w.Pid("a")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Dir); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("its process still runs")
	}
}
