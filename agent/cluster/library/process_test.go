//go:build linux

package library_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/transport/loopback"
)

// fileLimitEnv is the length of the longest file that a member can write: like a full disk.
const fileLimitEnv = "REGENT_TEST_FILE_LIMIT"

func TestMain(m *testing.M) {
	limitFiles(os.Getenv(fileLimitEnv))
	cluster.Main()
	os.Exit(m.Run())
}

// freeAddrs returns loopback addresses that nobody listens on.
func freeAddrs(t testing.TB, n int) []string {
	t.Helper()
	var addrs []string
	for range n {
		addr, err := loopback.Free()
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, addr)
	}
	return addrs
}

// newWatch returns a cluster of member processes that lead a group.
func newWatch(t testing.TB, change func(*cluster.Options), names ...string) *cluster.Watch {
	t.Helper()
	o := cluster.Options{Names: names, Timing: patient, Command: cluster.Child(), Groups: cluster.OneGroup, Poll: time.Millisecond}
	if change != nil {
		change(&o)
	}
	return cluster.OpenWatch(t, o)
}

func TestThreeProcessesElectLoseAndElectAgain(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	var last uint64
	for range 4 {
		e := w.Leader(last)
		if e.Token <= last {
			t.Errorf("token %d after %d", e.Token, last)
		}
		last = e.Token
		w.Must(w.Crash(e.Member))
		w.Begin(e.Member)
	}
}

// A leader that is stopped past its lease and goes on finds that it no longer leads, whoever it asks: by the readings of
// the programs themselves no two led at once.
func TestLeaderThatWasStoppedDoesNotLeadWhenItGoesOn(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	var last uint64
	for range 3 {
		old := w.Leader(last)
		w.Must(w.Pause(old.Member))
		next := w.Leader(old.Token)
		if next.Member == old.Member {
			t.Fatalf("%s leads while it is stopped", old.Member)
		}
		w.Must(w.Resume(old.Member))
		w.Await("the old leader to stop", func(e *cluster.Event) bool {
			return e.What == cluster.Stops && e.Member == old.Member && e.Token == old.Token
		})
		last = w.Last.Token
		w.Must(w.Say(w.Last.Member, "resign"))
	}
	w.Judge(t, 3, cluster.Rules{})
}

// A program that ignores Done is renewed for StopWithin. Then its lease runs out, and another host leads after it.
func TestProgramThatIgnoresDoneIsReplacedWhenItsLeaseHasRunOut(t *testing.T) {
	t.Parallel()
	const within = 2 * time.Second
	w := newWatch(t, func(o *cluster.Options) { o.Stubborn = within }, "a", "b", "c")
	w.BeginAll()
	old := w.Leader(0)
	asked := cluster.Now()
	w.Must(w.Say(old.Member, "unwell"))
	next := w.Leader(old.Token)
	if next.Member == old.Member {
		t.Errorf("%s leads again while it is unhealthy", next.Member)
	}
	if took := next.At.Sub(asked); took < within {
		t.Errorf("another host leads %v after the request to stop: the lease was not renewed for %v", took, within)
	}
	if stopped := w.Stopped(old.Token); stopped.Sub(asked) < within {
		t.Errorf("the program stopped %v after the request: the test shows nothing", stopped.Sub(asked))
	}
	w.Judge(t, 2, cluster.Rules{})
}

func TestLeaderThatIsCutOffStopsBeforeAnotherLeads(t *testing.T) {
	t.Parallel()
	// A busy host may not run the program for longer than the usual guard time.
	w := newWatch(t, func(o *cluster.Options) { o.Relay, o.Timing.Guard = true, time.Second }, "a", "b", "c")
	w.BeginAll()
	var last uint64
	for range 3 {
		old := w.Leader(last)
		w.Must(w.Cut(old.Member))
		next := w.Leader(old.Token)
		if stopped := w.Stopped(old.Token); stopped > next.At {
			t.Errorf("%s led %v before %s was told to stop", next.Member, stopped.Sub(next.At), old.Member)
		}
		w.Must(w.Heal(old.Member))
		last = w.Last.Token
		w.Must(w.Say(w.Last.Member, "resign"))
	}
}

// The one thing that a lease cannot stand is a voter that forgets. One that restarts at once has its record, and grants
// nothing before the longest promise that it may have made is over.
func TestMembersThatRestartFasterThanTheLease(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	var last uint64
	for round := range 4 {
		e := w.Leader(last)
		last = e.Token
		for _, name := range w.Others(e.Member) { // both voters, so that the leader alone remembers
			w.Must(w.Crash(name))
			w.Begin(name)
		}
		if round%2 == 1 {
			w.Must(w.Crash(e.Member))
			w.Begin(e.Member)
		}
	}
	w.Leader(last)
}

func TestMemberThatLostItsDirectoryAsksTheOthers(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	e := w.Leader(0)
	w.Must(w.Crash(e.Member))
	w.Must(os.RemoveAll(filepath.Join(w.Dir, e.Member)))
	w.Begin(e.Member)
	next := w.Leader(e.Token)
	w.Joined(e.Member)
	w.Must(w.Crash(next.Member))
	if again := w.Leader(next.Token); again.Token <= next.Token {
		t.Errorf("token %d after %d", again.Token, next.Token)
	}
}

// A council that lost all its records does not begin again by itself unless it may.
func TestCouncilWithoutRecordsWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	for _, name := range w.Names {
		o, err := w.Order(name)
		w.Must(err)
		o.Bootstrap = false
		w.Must(w.StartAs(name, o))
	}
	w.Quiet(2 * time.Second)
	for _, name := range w.Names {
		w.Must(w.Crash(name))
	}
	w.Begin(w.Names...)
	w.Leader(0)
}

func TestMemberWithTheWrongKeyIsNotHeard(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	for _, name := range w.Names {
		o, err := w.Order(name)
		w.Must(err)
		o.Key = bytes.Repeat([]byte{1}, 32)
		if name == "c" {
			o.Key = bytes.Repeat([]byte{2}, 32)
		}
		w.Must(w.StartAs(name, o))
	}
	w.Quiet(2 * time.Second) // to begin, all must be there
	w.Must(w.Crash("c"))
	o, err := w.Order("c")
	w.Must(err)
	o.Key = bytes.Repeat([]byte{1}, 32)
	w.Must(w.StartAs("c", o))
	w.Leader(0)
	for _, name := range w.Names {
		if s := w.StatusOf(name).Status; name != "c" && s.Dropped["unknown key"] == 0 {
			t.Errorf("%s counts no packet under an unknown key: %v", name, s.Dropped)
		}
	}
}

// awaitProblem waits until a member reports a problem with another.
func awaitProblem(t *testing.T, w *cluster.Watch, at, with, what string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s reports %q of %s", at, what, with), func() bool {
		return slices.ContainsFunc(w.StatusOf(at).Members, func(p regent.PeerStatus) bool {
			return p.Name == with && strings.Contains(p.Problem, what)
		})
	})
}

func TestMemberWithAnotherConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	e := w.Leader(0)
	other := w.Others(e.Member)[0]
	w.Must(w.Crash(other))
	o, err := w.Order(other)
	w.Must(err)
	o.Timing.Delay *= 2
	w.Must(w.StartAs(other, o))
	awaitProblem(t, w, e.Member, other, "local lock: ")
	w.Must(w.Crash(other)) // and that was no harm to the others
	w.Must(w.Crash(e.Member))
	w.Begin(e.Member, other)
	w.Leader(e.Token)
}

func TestTwoProcessesWithOneNameDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	e := w.Leader(0)
	name := w.Others(e.Member)[0]
	o, err := w.Order(name)
	w.Must(err)
	// One without a record, of another host: nobody answers it, and it never learns who it is.
	o.Dir, o.Bind = filepath.Join(w.Dir, "second"), "127.0.0.1:0"
	w.Must(w.StartAs("second", o))
	awaitProblem(t, w, e.Member, name, "two processes")
	w.Must(w.Crash("second"))
	// One with a copy of the directory: it speaks under a later incarnation.
	record, err := os.ReadFile(filepath.Join(w.Dir, name, "record"))
	w.Must(err)
	o.Dir = filepath.Join(w.Dir, "third")
	w.Must(os.MkdirAll(o.Dir, 0o700))
	w.Must(os.WriteFile(filepath.Join(o.Dir, "record"), record, 0o600))
	w.Must(w.StartAs("third", o))
	awaitProblem(t, w, w.Leader(0).Member, name, "two processes")
	w.Must(w.Crash("third"))
}

func TestMemberOnAFullDiskDoesNotStartAndSaysWhy(t *testing.T) {
	t.Parallel()
	limit := false
	w := newWatch(t, func(o *cluster.Options) {
		run := o.Command
		o.Command = func() *exec.Cmd {
			c := run()
			if limit {
				c.Env = append(c.Env, fileLimitEnv+"=0")
			}
			return c
		}
	}, "a", "b", "c")
	w.BeginAll()
	e := w.Leader(0)
	name := w.Others(e.Member)[0]
	w.Must(w.Crash(name))
	limit = true
	w.Begin(name)
	if failed := w.Failed(name); !strings.Contains(failed, "record of member") || !strings.Contains(failed, "file too large") {
		t.Errorf("it reports %q", failed)
	}
	limit = false
	w.Begin(name) // nothing is lost: with room it starts where it was
	w.Joined(name)
}

func TestSecondProcessOnADirectoryIsRefused(t *testing.T) {
	t.Parallel()
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	w.Leader(0)
	o, err := w.Order("a")
	w.Must(err)
	o.Bind = "127.0.0.1:0"
	w.Must(w.StartAs("second", o))
	e := w.Await("the second process to be refused", func(e *cluster.Event) bool { return e.What == cluster.Failed && e.Member == "second" })
	if !strings.Contains(e.Text, "in use") || !strings.Contains(e.Text, "member a") {
		t.Errorf("it is told %q", e.Text)
	}
}

// A backup that is restored makes a member forget what it promised since. The others remember, and tell it.
func TestMemberWithARestoredOldDirectoryAsksTheOthers(t *testing.T) {
	t.Parallel()
	for _, starts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d starts ago", starts), func(t *testing.T) {
			t.Parallel()
			restoreOldDirectory(t, starts)
		})
	}
}

func restoreOldDirectory(t *testing.T, starts int) {
	w := newWatch(t, nil, "a", "b", "c")
	w.BeginAll()
	e := w.Leader(0)
	name := w.Others(e.Member)[0]
	record := filepath.Join(w.Dir, name, "record")
	old, err := os.ReadFile(record)
	w.Must(err)
	for range starts {
		w.Must(w.Crash(name))
		w.Begin(name)
		w.Joined(name)
	}
	last := w.StatusOf(name).Status.Incarnation
	w.Must(w.Crash(name))
	w.Must(os.WriteFile(record, old, 0o600))
	w.Begin(name)
	w.Joined(name)
	cluster.Eventually(t, fmt.Sprintf("%s has learnt that it was there before, and speaks under an incarnation above %d", name, last), func() bool {
		s := w.StatusOf(name).Status
		return s.Waiting == "" && s.Incarnation > last
	})
	e = w.Leader(0)
	w.Must(w.Crash(w.Others(e.Member)[1])) // now the leader needs its vote
	w.Must(w.Say(e.Member, "resign"))
	w.Leader(e.Token)
}
