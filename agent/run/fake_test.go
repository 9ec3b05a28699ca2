package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// fakeAgent elects the runner as often as it campaigns, up to a number of times.
type fakeAgent struct {
	noToken bool // leaderships have no tokens
	terms   Terms
	clock   *fakeClock
	elect   int
	granted time.Duration // the length of leases that it reports when it accepts a candidacy
	leases  chan *fakeLease
	gone    chan struct{}
	refs    []tree.Ref
	connect int
	// believed is who leads and why, one after the other, as a watcher hears.
	believed chan [2]string
	// campaigns counts candidacies, and early says that the runner asked who leads before its first.
	campaigns atomic.Int64
	early     atomic.Bool
	// started is called when the runner reports its first process, which waits for permission to exec, if it is set.
	started func()
	// released is called when the runner reports that it has stopped, if it is set.
	released func()
}

// fakeClock runs, and can be set forward.
type fakeClock struct{ by atomic.Int64 }

func (c *fakeClock) Now() protocol.Time {
	return protocol.Time(time.Since(began)).Add(time.Duration(c.by.Load()))
}
func (c *fakeClock) Late() protocol.Time { return c.Now() }

var began = time.Now()

// fakeLength is how long the leases are that a fake agent grants: nothing ends by itself.
const fakeLength = time.Hour

func newFake(elect int) *fakeAgent {
	return &fakeAgent{elect: elect, granted: 300 * time.Millisecond, clock: new(fakeClock), leases: make(chan *fakeLease, 10), gone: make(chan struct{}), believed: make(chan [2]string),
		terms: Terms{Member: "a", Socket: "a.sock", Lease: 200 * time.Millisecond, Guard: 20 * time.Millisecond, Priority: 7}}
}

func (a *fakeAgent) dial(context.Context) (Agent, error) {
	a.connect++
	return a, nil
}
func (a *fakeAgent) Terms() Terms          { return a.terms }
func (a *fakeAgent) Clock() clock.Clock    { return a.clock }
func (a *fakeAgent) Gone() <-chan struct{} { return a.gone }
func (a *fakeAgent) Close() error          { return nil }

func (a *fakeAgent) Explain(c protocol.Cause) string { return c.Code.String() + " a" }

func (a *fakeAgent) Campaign(c session.Candidate, take func(Notice)) (Upper, error) {
	ref := tree.Ref{Ref: tenure.Ref{Runner: tenure.Identity{Pid: c.Claim.Runner}, UID: os.Geteuid()}, Mark: c.Claim.Mark, Cgroup: c.Claim.Cgroup}
	a.refs = append(a.refs, ref)
	a.campaigns.Add(1)
	l := &fakeLease{agent: a, token: uint64(40 + len(a.refs)), stopped: make(chan struct{}), ref: ref, take: take}
	if len(a.refs) <= a.elect {
		l.until = a.clock.Now().Add(fakeLength)
		go func() {
			take(Notice{Lease: a.granted})
			take(Notice{Event: tenure.Event{Kind: tenure.Elected, Token: l.token, At: a.clock.Now(), Until: l.until}, NoToken: a.noToken})
			a.leases <- l
		}()
	}
	return l, nil
}

func (a *fakeAgent) Watch(ctx context.Context, _ string, f func(leader, why string)) error {
	if a.campaigns.Load() == 0 {
		a.early.Store(true)
	}
	for {
		select {
		case b := <-a.believed:
			f(b[0], b[1])
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Duplicates does nothing.
func (l *fakeLease) Duplicates(map[string]string) {}

// fakeLease lasts until a test sets the clock forward.
type fakeLease struct {
	agent   *fakeAgent
	token   uint64
	until   protocol.Time
	take    func(Notice)
	stopped chan struct{}
	once    sync.Once
	ref     tree.Ref
	first   atomic.Int64 // the process that was reported
	gone    atomic.Bool  // nothing more is taken
	// left is who was left of the tree when it was reported to have stopped, and cause why.
	left  tree.Result
	cause protocol.Cause
}

// tell asks the runner to stop.
func (l *fakeLease) tell() {
	l.take(Notice{Event: tenure.Event{Kind: tenure.Stop, Cause: protocol.Cause{Code: protocol.Resigned}}})
}

// leave sets the clock so that so much of the lease is left, before anybody has noticed.
func (l *fakeLease) leave(d time.Duration) {
	l.agent.clock.by.Add(int64(l.until.Sub(l.agent.clock.Now()) - d))
}

// lose does the same, and has the runner look.
func (l *fakeLease) lose(d time.Duration) {
	l.leave(d)
	l.take(Notice{Event: tenure.Event{Kind: tenure.Extended, Until: l.until}})
}

func (l *fakeLease) Started(first int) {
	l.first.Store(int64(first))
	if l.agent.started != nil {
		l.agent.started()
	}
}
func (l *fakeLease) Stopped(c protocol.Cause) {
	l.once.Do(func() {
		if l.agent.released != nil {
			l.agent.released() // first: a look takes its time
		}
		l.left = l.ref.Look()
		l.cause = c
		close(l.stopped)
		go l.take(Notice{Event: tenure.Event{Kind: tenure.Lost, Cause: c}})
	})
}
func (l *fakeLease) Freeze(c protocol.Cause) {
	go l.take(Notice{Event: tenure.Event{Kind: tenure.Lost, Cause: c}})
}
func (l *fakeLease) Leave()       { l.gone.Store(true) }
func (l *fakeLease) Unread() bool { return false }

func (l *fakeLease) Shown() (protocol.Time, bool) { return 0, false }

// stage is a runner at work.
type stage struct {
	t       *testing.T
	agent   *fakeAgent
	dir     string
	signals chan os.Signal
	status  int
	err     error
	ended   chan struct{}
	mu      sync.Mutex
	lines   []string
}

// play runs a shell script under a runner. The script finds its directory in $D.
func play(t *testing.T, agent *fakeAgent, script string, change func(*Options)) *stage {
	t.Helper()
	reaper, err := tree.ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, agent: agent, dir: t.TempDir(), signals: make(chan os.Signal), ended: make(chan struct{})}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Group: "g", Command: []string{"sh", "-c", script}, Grace: 20 * time.Second, Delay: time.Millisecond,
		Files: []*os.File{null, null, os.Stderr}, Env: append(os.Environ(), "D="+s.dir), Signals: s.signals, Log: s.log,
		Hooks: Hooks{Timeout: 20 * time.Second, Reaper: reaper, Log: s.log}}
	if change != nil {
		change(&o)
	}
	go func() {
		defer close(s.ended)
		defer null.Close()
		s.status, s.err = Run(t.Context(), agent.dial, o)
	}()
	t.Cleanup(func() { <-s.ended })
	return s
}

func (s *stage) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *stage) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// send sends a signal to the runner.
func (s *stage) send(sig os.Signal) {
	s.t.Helper()
	select {
	case s.signals <- sig:
	case <-s.ended:
		s.t.Fatalf("ended with %d, %v before %v was sent; log:\n%s", s.status, s.err, sig, s.said())
	}
}

// lease waits for the next leadership.
func (s *stage) lease() *fakeLease {
	s.t.Helper()
	select {
	case l := <-s.agent.leases:
		return l
	case <-s.ended:
		s.t.Fatalf("ended with %d, %v", s.status, s.err)
	case <-time.After(cluster.Patience):
		s.t.Fatal("did not campaign")
	}
	return nil
}

// file waits until the script has written a file, and returns what.
func (s *stage) file(name string) string {
	s.t.Helper()
	var text string
	err := cluster.Wait(cluster.Patience, name+" is written", func() bool {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		text = string(b)
		return err == nil && strings.HasSuffix(text, "\n")
	})
	if err != nil {
		s.t.Fatalf("%v; log:\n%s", err, s.said())
	}
	return strings.TrimSpace(text)
}

// end waits for the runner and compares its status.
func (s *stage) end(want int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(cluster.Patience):
		s.t.Fatalf("the runner does not end; log:\n%s", s.said())
	}
	if s.status != want {
		s.t.Errorf("status %d, %v; want %d; log:\n%s", s.status, s.err, want, s.said())
	}
}

// mustStart waits until the first process was reported.
func (s *stage) mustStart(l *fakeLease) {
	s.t.Helper()
	if err := cluster.Wait(cluster.Patience, "the first process runs", func() bool { return l.first.Load() != 0 }); err != nil {
		s.t.Fatalf("%v; log:\n%s", err, s.said())
	}
}

// mustBeGone sees that the group was given up, and nobody was left then.
func (s *stage) mustBeGone(l *fakeLease) {
	s.t.Helper()
	select {
	case <-l.stopped:
	case <-time.After(cluster.Patience):
		s.t.Fatalf("the group was not given up; log:\n%s", s.said())
	}
	if l.left.Err != nil || len(l.left.Left) > 0 {
		s.t.Errorf("given up while something was left: %s", l.left.String())
	}
}
