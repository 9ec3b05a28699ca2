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

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/transport/loopback"
)

// fileLimitEnv is the length of the longest file that a member can write: like a full disk.
const fileLimitEnv = "REGENT_TEST_FILE_LIMIT"

// The test binary is also the member: with this variable set it is the inside of a cluster.
const memberEnv = "REGENT_TEST_MEMBER"

func TestMain(m *testing.M) {
	if os.Getenv(memberEnv) != "" {
		limitFiles(os.Getenv(fileLimitEnv))
		os.Exit(cluster.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv(memberEnv, "1") // for the children only: this process has looked already
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

// newTown returns a cluster of member processes.
func newTown(t testing.TB, change func(*cluster.Options), names ...string) *folk {
	t.Helper()
	o := cluster.Options{Names: names, Dir: t.TempDir(), Timing: patient, Command: cluster.Self(), Poll: time.Millisecond,
		Log: func(member, line string) { t.Logf("%s: %s", member, line) }}
	if change != nil {
		change(&o)
	}
	w, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &folk{Cluster: w, t: t, stopped: make(map[uint64]int64), starts: make(map[string]int), joins: make(map[string]int)}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// folk is a cluster with a test.
type folk struct {
	*cluster.Cluster
	t testing.TB
	// held are all leaderships that programs wrote down, and last is the last that began.
	held []cluster.Event
	last cluster.Event
	// stopped is when the programs of leaderships were told to stop, by token.
	stopped map[uint64]int64
	// starts and joins count how often members were started and took part.
	starts, joins map[string]int
}

// start starts members.
func (f *folk) start(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := f.Start(name); err != nil {
			f.t.Fatal(err)
		}
		f.starts[name]++
	}
}

// must fails the test if something could not be done.
func (f *folk) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// await waits for an event.
func (f *folk) await(what string, match func(*cluster.Event) bool) cluster.Event {
	f.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e := <-f.Events():
			f.note(&e)
			if match(&e) {
				return e
			}
		case <-limit:
			f.t.Fatalf("waited too long for %s", what)
		}
	}
}

// note keeps what programs wrote down, and checks that no two of them led at one instant.
func (f *folk) note(e *cluster.Event) {
	f.t.Helper()
	if e.Local { // of those there may be several
		return
	}
	switch e.What {
	case cluster.Joined:
		f.joins[e.Member]++
	case cluster.Leads:
		f.last = *e
	case cluster.Stops:
		f.stopped[e.Token] = e.At
	case cluster.Failed:
		f.t.Logf("%s failed: %s", e.Member, e.Text)
	case cluster.Held:
		for _, h := range f.held {
			if both := min(h.Until, e.Until) - max(h.Since, e.Since); both > 0 {
				f.t.Errorf("%s (token %d) and %s (token %d) both led for %v", h.Member, h.Token, e.Member, e.Token, time.Duration(both))
			}
		}
		f.held = append(f.held, *e)
	}
}

// leader waits for the next leader after the given token.
func (f *folk) leader(after uint64) cluster.Event {
	f.t.Helper()
	if f.last.Token <= after {
		f.await("a leader", func(*cluster.Event) bool { return f.last.Token > after })
	}
	return f.last
}

// stops waits until the program of a leadership was told to stop.
func (f *folk) stops(token uint64) {
	f.t.Helper()
	for f.stopped[token] == 0 {
		f.await("the old leader to stop", func(e *cluster.Event) bool { return e.What == cluster.Stops })
	}
}

// joined waits until members take part, each as often as it was started.
func (f *folk) joined(names ...string) {
	f.t.Helper()
	for _, n := range names {
		for f.joins[n] < f.starts[n] {
			f.await(n+" to join", func(e *cluster.Event) bool { return e.What == cluster.Joined })
		}
	}
}

// status asks a member how it is.
func (f *folk) status(name string) cluster.Event {
	f.t.Helper()
	f.must(f.Say(name, "status"))
	return f.await("the status of "+name, func(e *cluster.Event) bool { return e.What == cluster.Said && e.Member == name })
}

// others returns all members but one.
func (f *folk) others(name string) []string {
	return slices.DeleteFunc(slices.Clone(f.Names), func(n string) bool { return n == name })
}

// quiet makes sure that for a while nobody begins to lead.
func (f *folk) quiet(d time.Duration) {
	f.t.Helper()
	end := time.After(d)
	for {
		select {
		case e := <-f.Events():
			if f.note(&e); e.What == cluster.Leads {
				f.t.Errorf("%s leads with token %d", e.Member, e.Token)
			}
		case <-end:
			return
		}
	}
}

func TestThreeProcessesElectLoseAndElectAgain(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c") // a council begins only with all its members
	var last uint64
	for range 4 {
		e := f.leader(last)
		if e.Token <= last {
			t.Errorf("token %d after %d", e.Token, last)
		}
		last = e.Token
		f.must(f.Crash(e.Member))
		f.start(e.Member)
	}
}

// A leader that is stopped past its lease and goes on finds that it no longer leads, whoever it asks: by the readings of
// the programs themselves no two led at once.
func TestLeaderThatWasStoppedDoesNotLeadWhenItGoesOn(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c") // a council begins only with all its members
	var last uint64
	for range 3 {
		old := f.leader(last)
		f.must(f.Pause(old.Member))
		next := f.leader(old.Token)
		if next.Member == old.Member {
			t.Fatalf("%s leads while it is stopped", old.Member)
		}
		f.must(f.Resume(old.Member))
		f.await("the old leader to stop", func(e *cluster.Event) bool {
			return e.What == cluster.Stops && e.Member == old.Member && e.Token == old.Token
		})
		last = f.last.Token
		f.must(f.Say(f.last.Member, "resign"))
	}
	if len(f.held) < 3 {
		t.Errorf("only %d leaderships were written down", len(f.held))
	}
}

func TestLeaderThatIsCutOffStopsBeforeAnotherLeads(t *testing.T) {
	// A busy host may not run the program for longer than the usual guard time.
	f := newTown(t, func(o *cluster.Options) { o.Relay, o.Timing.Guard = true, time.Second }, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c") // a council begins only with all its members
	var last uint64
	for range 3 {
		old := f.leader(last)
		f.must(f.Cut(old.Member))
		next := f.leader(old.Token)
		f.stops(old.Token) // the two may be heard of in any order
		if stopped := f.stopped[old.Token]; stopped > next.At {
			t.Errorf("%s led %v before %s was told to stop", next.Member, time.Duration(stopped-next.At), old.Member)
		}
		f.must(f.Heal(old.Member))
		last = f.last.Token
		f.must(f.Say(f.last.Member, "resign"))
	}
}

// The one thing that a lease cannot stand is a voter that forgets. One that restarts at once has its record, and grants
// nothing before the longest promise that it may have made is over.
func TestMembersThatRestartFasterThanTheLease(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c") // a council begins only with all its members
	var last uint64
	for round := range 4 {
		e := f.leader(last)
		last = e.Token
		for _, name := range f.others(e.Member) { // both voters, so that the leader alone remembers
			f.must(f.Crash(name))
			f.start(name)
		}
		if round%2 == 1 {
			f.must(f.Crash(e.Member))
			f.start(e.Member)
		}
	}
	f.leader(last)
}

func TestMemberThatLostItsDirectoryAsksTheOthers(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c")
	e := f.leader(0)
	f.must(f.Crash(e.Member))
	f.must(os.RemoveAll(filepath.Join(f.Dir, e.Member)))
	f.start(e.Member)
	next := f.leader(e.Token)
	f.joined(e.Member)
	f.must(f.Crash(next.Member))
	if again := f.leader(next.Token); again.Token <= next.Token {
		t.Errorf("token %d after %d", again.Token, next.Token)
	}
}

// A council that lost all its records does not begin again by itself unless it may.
func TestCouncilWithoutRecordsWaitsForAnOperator(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	for _, name := range f.Names {
		o, err := f.Order(name)
		f.must(err)
		o.Bootstrap = false
		f.must(f.StartAs(name, o))
	}
	f.quiet(2 * time.Second)
	for _, name := range f.Names {
		f.must(f.Crash(name))
	}
	f.start(f.Names...)
	f.leader(0)
}

func TestMemberWithTheWrongKeyIsNotHeard(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	for _, name := range f.Names {
		o, err := f.Order(name)
		f.must(err)
		o.Key = bytes.Repeat([]byte{1}, 32)
		if name == "c" {
			o.Key = bytes.Repeat([]byte{2}, 32)
		}
		f.must(f.StartAs(name, o))
	}
	f.quiet(2 * time.Second) // to begin, all must be there
	f.must(f.Crash("c"))
	o, err := f.Order("c")
	f.must(err)
	o.Key = bytes.Repeat([]byte{1}, 32)
	f.must(f.StartAs("c", o))
	f.leader(0)
	for _, name := range f.Names {
		if s := f.status(name).Status; name != "c" && s.Dropped["unknown key"] == 0 {
			t.Errorf("%s counts no packet under an unknown key: %v", name, s.Dropped)
		}
	}
}

// trouble waits until a member says that something is wrong with another.
func (f *folk) trouble(at, with, what string) {
	f.t.Helper()
	for range 200 {
		for _, p := range f.status(at).Members {
			if p.Name == with && strings.Contains(p.Trouble, what) {
				return
			}
		}
		f.quiet(20 * time.Millisecond)
	}
	f.t.Errorf("%s does not say %q of %s", at, what, with)
}

func TestMemberWithAnotherConfigurationIsNamed(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c")
	e := f.leader(0)
	other := f.others(e.Member)[0]
	f.must(f.Crash(other))
	o, err := f.Order(other)
	f.must(err)
	o.Timing.LongestLease *= 2
	f.must(f.StartAs(other, o))
	f.trouble(e.Member, other, "longest lease: 2s here, 4s there")
	f.must(f.Crash(other)) // and that was no harm to the others
	f.must(f.Crash(e.Member))
	f.start(e.Member, other)
	f.leader(e.Token)
}

func TestTwoProcessesWithOneNameDoNotCount(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c")
	e := f.leader(0)
	name := f.others(e.Member)[0]
	o, err := f.Order(name)
	f.must(err)
	// One without a record, of another host: nobody answers it, and it never learns who it is.
	o.Dir, o.Bind = filepath.Join(f.Dir, "second"), "127.0.0.1:0"
	f.must(f.StartAs("second", o))
	f.trouble(e.Member, name, "two processes")
	f.must(f.Crash("second"))
	// One with a copy of the directory: it speaks under a later incarnation.
	record, err := os.ReadFile(filepath.Join(f.Dir, name, "record"))
	f.must(err)
	o.Dir = filepath.Join(f.Dir, "third")
	f.must(os.MkdirAll(o.Dir, 0o700))
	f.must(os.WriteFile(filepath.Join(o.Dir, "record"), record, 0o600))
	f.must(f.StartAs("third", o))
	f.trouble(f.leader(0).Member, name, "two processes")
	f.must(f.Crash("third"))
}

func TestMemberOnAFullDiskDoesNotStartAndSaysWhy(t *testing.T) {
	limit := false
	f := newTown(t, func(o *cluster.Options) {
		run := o.Command
		o.Command = func() *exec.Cmd {
			c := run()
			if limit {
				c.Env = append(os.Environ(), fileLimitEnv+"=0")
			}
			return c
		}
	}, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c")
	e := f.leader(0)
	name := f.others(e.Member)[0]
	f.must(f.Crash(name))
	limit = true
	f.start(name)
	failed := f.await("the member to fail", func(e *cluster.Event) bool { return e.What == cluster.Failed && e.Member == name })
	if !strings.Contains(failed.Text, "record of member") || !strings.Contains(failed.Text, "file too large") {
		t.Errorf("it says %q", failed.Text)
	}
	f.await("its process to end", func(e *cluster.Event) bool { return e.What == cluster.Gone && e.Member == name })
	limit = false
	f.starts[name]--
	f.start(name) // nothing is lost: with room it starts where it was
	f.joined(name)
}

func TestSecondProcessOnADirectoryIsRefused(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c") // a council begins only with all its members
	f.leader(0)
	o, err := f.Order("a")
	f.must(err)
	o.Bind = "127.0.0.1:0"
	f.must(f.StartAs("second", o))
	e := f.await("the second process to be refused", func(e *cluster.Event) bool { return e.What == cluster.Failed && e.Member == "second" })
	if !strings.Contains(e.Text, "in use") || !strings.Contains(e.Text, "member a") {
		t.Errorf("it is told %q", e.Text)
	}
}

// A backup that is restored makes a member forget what it promised since. The others remember, and tell it.
func TestMemberWithARestoredOldDirectoryAsksTheOthers(t *testing.T) {
	for _, starts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d starts ago", starts), func(t *testing.T) { restoreOldDirectory(t, starts) })
	}
}

func restoreOldDirectory(t *testing.T, starts int) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	f.joined("a", "b", "c")
	e := f.leader(0)
	name := f.others(e.Member)[0]
	record := filepath.Join(f.Dir, name, "record")
	old, err := os.ReadFile(record)
	f.must(err)
	for range starts {
		f.must(f.Crash(name))
		f.start(name)
		f.joined(name)
	}
	last := f.status(name).Status.Incarnation
	f.must(f.Crash(name))
	f.must(os.WriteFile(record, old, 0o600))
	f.start(name)
	f.joined(name)
	for range 500 { // until it has learnt that it was there before
		if s := f.status(name).Status; s.Waiting == "" && s.Incarnation > last {
			break
		}
		f.quiet(20 * time.Millisecond)
	}
	if s := f.status(name).Status; s.Incarnation <= last {
		t.Fatalf("it speaks as incarnation %d, after %d: %s", s.Incarnation, last, s.Waiting)
	}
	e = f.leader(0)
	f.must(f.Crash(f.others(e.Member)[1])) // now the leader needs its vote
	f.must(f.Say(e.Member, "resign"))
	f.leader(e.Token)
}
