//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// fakeAgent elects the runner as often as it campaigns, up to a number of times.
type fakeAgent struct {
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

func (a *fakeAgent) Campaign(c Candidacy) (Upper, error) {
	a.refs = append(a.refs, c.Tree)
	l := &fakeLease{agent: a, token: uint64(40 + len(a.refs)), stopped: make(chan struct{}), ref: c.Tree, take: c.Take}
	if len(a.refs) <= a.elect {
		l.until = a.clock.Now().Add(fakeLength)
		go func() {
			c.Take(Notice{Lease: a.granted})
			c.Take(Notice{Event: tenure.Event{Kind: tenure.Elected, Token: l.token, At: a.clock.Now(), Until: l.until}})
			a.leases <- l
		}()
	}
	return l, nil
}

func (a *fakeAgent) Watch(ctx context.Context, _ string, f func(leader, why string)) error {
	for {
		select {
		case b := <-a.believed:
			f(b[0], b[1])
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

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

func TestTheProgramsOwnEndIsTheRunnersEnd(t *testing.T) {
	s := play(t, newFake(1), `sleep 1000 & exit 7`, nil)
	l := s.lease()
	s.end(7)
	s.mustBeGone(l) // the sleep too
}

func TestAProgramKilledByASignalCountsAsInAShell(t *testing.T) {
	s := play(t, newFake(1), `kill -SEGV $$`, nil)
	s.lease()
	s.end(128 + int(syscall.SIGSEGV))
}

func TestTheProgramKnowsItsLeadership(t *testing.T) {
	s := play(t, newFake(1), `echo $REGENT_GROUP $REGENT_MEMBER $REGENT_TOKEN $REGENT_TERM $REGENT_LEASE $REGENT_SOCKET >$D/env`, nil)
	if got, want := s.file("env"), "g a 41 41 300ms a.sock"; got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	s.end(0)
}

// The agent learns of the first process before the program runs: it finds what that starts when the runner is dead.
func TestTheAgentLearnsOfTheProgram(t *testing.T) {
	s := play(t, newFake(1), `echo $$ >$D/pid`, nil)
	l := s.lease()
	if got, want := s.file("pid"), strconv.FormatInt(l.first.Load(), 10); got != want {
		t.Errorf("the agent knows process %s, and the program is %s", want, got)
	}
	s.end(0)
}

// A candidacy is kept until the next one, for corrections of its cause, and no longer.
func TestCandidaciesAreLeft(t *testing.T) {
	s := play(t, newFake(2), `echo up >>$D/up; [ $REGENT_TOKEN = 41 ] || exec sleep 1000`, func(o *Options) { o.Restart = true })
	first, second := s.lease(), s.lease()
	if !first.gone.Load() || second.gone.Load() {
		t.Errorf("left: %v, %v; want the first alone", first.gone.Load(), second.gone.Load())
	}
	s.send(syscall.SIGTERM)
	s.end(0)
}

// Given up: the program has its whole grace, however long after the lease would have ended without renewal.
func TestGivenUpLeavesTheWholeGrace(t *testing.T) {
	s := play(t, newFake(1), `trap 'sleep 0.4; echo bye >$D/bye; exit 0' TERM; echo up >$D/up; while :; do sleep 0.01; done`,
		func(o *Options) { o.Once = true })
	l := s.lease()
	s.file("up")
	l.tell()
	s.file("bye")
	s.mustBeGone(l)
	s.end(StatusLost)
	if s.err == nil || !strings.Contains(s.err.Error(), "resigned a") {
		t.Errorf("error %v, want the cause", s.err)
	}
}

func TestGraceEnds(t *testing.T) {
	s := play(t, newFake(1), `trap '' TERM; echo up >$D/up; while :; do sleep 0.01; done`,
		func(o *Options) { o.Grace, o.Once = 50*time.Millisecond, true })
	l := s.lease()
	s.file("up")
	l.tell()
	s.mustBeGone(l)
	s.end(StatusLost)
	if !strings.Contains(s.said(), "killed after 50ms of grace") {
		t.Errorf("log:\n%s", s.said())
	}
}

// Lost: no grace, and whoever ignores signals or ran away dies all the same.
func TestLostKillsTheTreeAGuardTimeBeforeTheEnd(t *testing.T) {
	s := play(t, newFake(1), `trap '' TERM; setsid sleep 1000 & (sleep 1000 &) ; echo up >$D/up; while :; do sleep 0.01; done`,
		func(o *Options) { o.Once, o.Guard = true, 60*time.Millisecond })
	l := s.lease()
	s.file("up")
	l.lose(59 * time.Millisecond) // within the guard time; the lease still runs
	s.mustBeGone(l)
	s.end(StatusLost)
	if !strings.Contains(s.said(), "not renewed in time: lease expired a") {
		t.Errorf("log:\n%s", s.said())
	}
}

func TestLostCutsTheGraceShort(t *testing.T) {
	s := play(t, newFake(1), `trap '' TERM; echo up >$D/up; while :; do sleep 0.01; done`, func(o *Options) { o.Once = true })
	l := s.lease()
	s.file("up")
	l.tell()
	l.lose(0)
	s.mustBeGone(l)
	s.end(StatusLost)
	if !strings.Contains(s.said(), "killed because the lease was not renewed in time") {
		t.Errorf("log:\n%s", s.said())
	}
}

func TestTheRunnerPassesSignalsOn(t *testing.T) {
	s := play(t, newFake(1), `trap 'echo usr1 >$D/usr1' USR1; trap 'echo usr2 >$D/usr2' USR2; trap 'echo int >$D/int; exit 3' INT
		echo up >$D/up; while :; do sleep 0.01; done`, nil)
	l := s.lease()
	s.file("up")
	s.send(syscall.SIGUSR1)
	s.file("usr1")
	s.send(syscall.SIGUSR2) // not SIGHUP, which this test ignores under nohup, and what it starts as well
	s.file("usr2")
	s.send(os.Interrupt)
	s.file("int")
	s.end(0)
	s.mustBeGone(l)
}

func TestASignalWhileWaitingEndsTheRunner(t *testing.T) {
	s := play(t, newFake(0), `echo up >$D/up`, nil)
	s.send(syscall.SIGUSR1)
	s.send(syscall.SIGTERM)
	s.end(0)
	if s.err != nil {
		t.Error(s.err)
	}
}

func TestLostIsFollowedByANewCampaign(t *testing.T) {
	s := play(t, newFake(2), `echo $REGENT_TOKEN >$D/$REGENT_TOKEN; while :; do sleep 0.01; done`, nil)
	first := s.lease()
	s.file("41")
	first.lose(0)
	s.mustBeGone(first)
	second := s.lease()
	s.file("42")
	s.send(syscall.SIGTERM)
	s.mustBeGone(second)
	s.end(0)
	if s.agent.refs[0].Mark == s.agent.refs[1].Mark {
		t.Error("two trees have one mark")
	}
}

// After a pause of the host the agent may be the first to find that the lease is over, and to kill.
func TestLostIsNoEndOfTheProgramThoughTheAgentKilledIt(t *testing.T) {
	agent := newFake(2)
	s := play(t, agent, `echo $REGENT_TOKEN >$D/$REGENT_TOKEN; while :; do sleep 1000 & wait; done`, nil)
	first := s.lease()
	s.file("41")
	first.leave(s.agent.terms.Guard)
	if err := first.ref.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.mustBeGone(first)
	s.lease()
	s.file("42")
	s.send(syscall.SIGTERM)
	s.end(0)
}

// Nobody is killed with status 0: what has done its work is not to do it again.
func TestProgramThatEndedWellIsNotLost(t *testing.T) {
	agent := newFake(2)
	s := play(t, agent, `trap 'exit 0' USR1; echo up >$D/up; while :; do sleep 0.01; done`, nil)
	l := s.lease()
	s.file("up")
	l.leave(0) // as after a pause, before anybody has noticed
	s.send(syscall.SIGUSR1)
	s.end(0)
	s.mustBeGone(l)
}

func TestRestartRunsAgainInANewLeadership(t *testing.T) {
	s := play(t, newFake(3), `test $REGENT_TOKEN = 43 && echo third >$D/third && sleep 1000; exit 1`, func(o *Options) { o.Restart = true })
	for range 2 {
		s.mustBeGone(s.lease())
	}
	s.lease()
	s.file("third")
	s.send(syscall.SIGTERM)
	s.end(0)
}

func TestNotElectedInTime(t *testing.T) {
	s := play(t, newFake(0), `echo up >$D/up`, func(o *Options) { o.Wait = 10 * time.Millisecond })
	s.end(StatusNotElected)
	if s.err == nil || !strings.Contains(s.err.Error(), "did not lead within 10ms") {
		t.Error(s.err)
	}
}

func TestProgramsThatCannotBeRun(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), "odd")
	if err := os.WriteFile(odd, []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"no-such-program": StatusNotFound, "/no/such/program": StatusNotFound, plain: StatusCannotRun, odd: StatusCannotRun} {
		s := play(t, newFake(1), "", func(o *Options) { o.Command = []string{path} })
		s.end(want)
		if s.err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func TestAGuardThatIsTooShortIsRefused(t *testing.T) {
	for guard, want := range map[time.Duration]string{
		19 * time.Millisecond: "guard 19ms is too short: the agent tells programs 20ms before the end",
		-1:                    "is too short",
	} {
		s := play(t, newFake(1), "", func(o *Options) { o.Guard = guard })
		s.end(StatusFailed)
		if s.err == nil || !strings.Contains(s.err.Error(), want) {
			t.Errorf("guard %v: error %v, want %q", guard, s.err, want)
		}
		if len(s.agent.refs) > 0 {
			t.Errorf("guard %v: campaigned all the same", guard)
		}
	}
}

func TestAnAgentThatComesBackIsFoundAgain(t *testing.T) {
	a := newFake(1)
	b := newFake(1)
	b.leases = a.leases
	down := errors.New("nobody listens")
	tries := []error{nil, down, nil}
	dial := func(context.Context) (Agent, error) {
		a.connect++
		if err := tries[a.connect-1]; err != nil {
			return nil, err
		}
		if a.connect == 1 {
			return a, nil
		}
		return b, nil
	}
	s := &stage{t: t, agent: a, dir: t.TempDir(), signals: make(chan os.Signal), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.status, s.err = Run(t.Context(), dial, Options{Group: "g", Command: []string{"sleep", "1000"}, Grace: 20 * time.Second,
			Files: []*os.File{nil, nil, nil}, Env: os.Environ(), Signals: s.signals, Log: s.log})
	}()
	l := s.lease()
	close(a.gone)
	l.lose(0)
	s.mustBeGone(l)
	l = s.lease()
	s.send(syscall.SIGTERM)
	s.mustBeGone(l)
	s.end(0)
	if !strings.Contains(s.said(), "the agent has gone: nobody listens") {
		t.Errorf("log:\n%s", s.said())
	}
}

func TestReasonsHaveNames(t *testing.T) {
	names := []string{programExited.String(), stopRequested.String(), unhealthy.String(), leaseLost.String()}
	if want := []string{"ended", "resigned", "unhealthy", "lost"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
