package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

func TestMain(m *testing.M) {
	if os.Getenv("REGENT_TEST_MEMBER") != "" {
		os.Exit(Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv("REGENT_TEST_MEMBER", "1")
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
			t.Fatal("waited too long")
		}
	}
}

func TestTownObeys(t *testing.T) {
	w, err := New(Options{Names: []string{"a", "b", "c"}, Dir: t.TempDir(), Timing: regent.LAN, Command: Self(), Relay: true, Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, n := range w.Names {
		if err := w.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Start("a"); err == nil {
		t.Error("a member was started twice")
	}
	leads := await(t, w, func(e *Event) bool { return e.What == Leads })
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
	for _, err := range []error{w.Crash("b"), w.Pause("b"), w.Say("b", "status"), w.Cut("nobody")} {
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

func TestADeadProgramsReignCanBeRead(t *testing.T) {
	w, err := New(Options{Names: []string{"a"}, Dir: t.TempDir(), Timing: regent.LAN, Command: Self(), Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Start("a"); err != nil {
		t.Fatal(err)
	}
	leads := await(t, w, func(e *Event) bool { return e.What == Leads })
	for { // until it was told twice that it leads
		if r, err := w.Reign("a"); err == nil && r.Until > r.Since {
			break
		}
		if Reading()-leads.At > int64(20*time.Second) {
			t.Fatal("the program wrote nothing down")
		}
		if err := w.Say("a", "status"); err != nil {
			t.Fatal(err)
		}
		await(t, w, func(e *Event) bool { return e.What == Said })
	}
	if err := w.Crash("a"); err != nil {
		t.Fatal(err)
	}
	r, err := w.Reign("a")
	if err != nil {
		t.Fatal(err)
	}
	if r.Token != leads.Token || r.Since > r.Until || r.Until > Reading() {
		t.Errorf("a led with token %d; its diary says %+v", leads.Token, r)
	}
}
