//go:build unix

package run

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/tenure"
)

func TestHooksGetStatesInOrder(t *testing.T) {
	s := play(t, newFake(1), `echo run >>$D/log; exit 0`, func(o *Options) {
		hook := filepath.Join(t.TempDir(), "hook")
		if err := os.WriteFile(hook, []byte("#!/bin/sh\necho \"$@\" $REGENT_REASON >>$D/log\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Hooks.Elected, o.Hooks.Lost, o.Hooks.Notify = []string{hook, "up"}, []string{hook, "down"}, []string{hook}
	})
	s.end(0)
	want := "GROUP g BACKUP 7\nup\nGROUP g MASTER 7\nrun\ndown ended\nGROUP g BACKUP 7\nGROUP g STOP 7"
	if got := s.file("log"); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
}

func TestHooksRunAgainWhenAMemberIsBack(t *testing.T) {
	s := play(t, newFake(1), `while ! test -e $D/again; do sleep 0.01; done`, func(o *Options) {
		o.Hooks.Notify = []string{"sh", "-c", `echo $2 >>$D/log; if test $2 = MASTER_RX_LOWER_PRI; then touch $D/again; fi`}
	})
	s.lease().take(Notice{Healed: true})
	s.end(0)
	if got, want := s.file("log"), "BACKUP\nMASTER\nMASTER_RX_LOWER_PRI\nBACKUP\nSTOP"; got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
}

// A hook that hangs holds nothing up once the lease is over, and the program is not started then.
func TestALeaseThatEndsDuringTheHookStartsNothing(t *testing.T) {
	s := play(t, newFake(1), `echo up >$D/up`, func(o *Options) {
		o.Once = true
		o.Hooks.Elected = []string{"sh", "-c", "echo in >$D/in; sleep 1000"}
	})
	l := s.lease()
	s.file("in")
	l.lose(0)
	<-l.stopped
	s.end(StatusLost)
	if _, err := os.Stat(filepath.Join(s.dir, "up")); err == nil {
		t.Error("the program was started after its lease")
	}
}

// A runner that was held up while one hook of its election ran does not start the next one after its deadline.
func TestElectedHooksStartOnlyBeforeTheDeadline(t *testing.T) {
	s := play(t, newFake(1), `echo up >$D/up`, func(o *Options) {
		o.Once = true
		o.Hooks.Elected = []string{"sh", "-c", "echo in >$D/in; while ! test -e $D/go; do sleep 0.01; done"}
		o.Hooks.Notify = []string{"sh", "-c", `echo $2 >>$D/log`}
	})
	l := s.lease()
	s.file("in")
	l.leave(0)
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.end(StatusLost)
	if log := s.file("log"); strings.Contains(log, "MASTER") {
		t.Errorf("told after the deadline:\n%s", log)
	}
}

// What an elected hook started is gone before the end is reported, wherever it hides.
func TestElectedHooksArePartOfTheTree(t *testing.T) {
	s := play(t, newFake(1), `exit 0`, func(o *Options) {
		o.Once = true
		o.Hooks.Elected = []string{"sh", "-c", `setsid sh -c 'echo $$ >$D/pid; exec sleep 1000' & wait`}
	})
	l := s.lease()
	pid := s.file("pid")
	l.lose(0)
	<-l.stopped
	if b, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(b), ") Z ") {
		t.Errorf("process %s of the elected hook lives on", pid)
	}
	s.end(StatusLost)
}

// A lost hook that takes too long is dead before the group is given up.
func TestKilledLostHookIsDeadBeforeTheRelease(t *testing.T) {
	a, at := newFake(1), make(chan string, 1)
	var pid atomic.Pointer[string]
	a.released = func() { // at the very moment
		b, _ := os.ReadFile("/proc/" + *pid.Load() + "/stat")
		at <- string(b)
	}
	s := play(t, a, `exit 0`, func(o *Options) {
		o.Once = true
		o.Hooks.Timeout = time.Hour
		o.Hooks.Lost = []string{"sh", "-c", `echo $$ >$D/pid; exec sleep 1000`}
	})
	l := s.lease()
	number := s.file("pid")
	pid.Store(&number)
	l.lose(-24 * time.Hour) // beyond the bound of the hooks
	if stat := <-at; stat != "" && !strings.Contains(stat, ") Z ") {
		t.Errorf("process %s of the lost hook was alive at the release: %s", number, stat)
	}
	s.end(0)
}

// What a hook prints is seen, whatever it is: by default that is the runner's standard error.
func TestWhatHooksPrintIsSeen(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := play(t, newFake(1), `exit 0`, func(o *Options) {
		o.Files[2] = out
		o.Hooks.Elected, o.Hooks.Lost = line(t, `echo up`), line(t, `echo "down because  $REGENT_REASON"; echo and more >&2; exit 3`)
		o.Hooks.Notify = []string{"sh", "-c", "echo $2"}
	})
	s.end(0)
	b, err := os.ReadFile(out.Name())
	if want := "BACKUP\nup\nMASTER\ndown because  ended\nand more\nBACKUP\nSTOP\n"; err != nil || string(b) != want {
		t.Errorf("got %q, %v, want %q", b, err, want)
	}
	if want := `hook echo "down because  $REGENT_REASON"; echo and more >&2; exit 3: exit status 3`; !strings.Contains(s.said(), want) {
		t.Errorf("log:\n%s\nwant %s", s.said(), want)
	}
}

// line is a command that a shell runs.
func line(t *testing.T, text string) []string {
	t.Helper()
	c, err := Shell(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAHookThatTakesTooLongIsKilledWithAllThatItStarted(t *testing.T) {
	s := play(t, newFake(1), `exit 0`, func(o *Options) {
		o.Hooks.Timeout = 500 * time.Millisecond
		o.Hooks.Elected = line(t, `sleep 1000 & (sleep 1000 & echo $! >>$D/pids); echo $! >>$D/pids; wait`)
	})
	s.end(0)
	if !strings.Contains(s.said(), "killed: it took too long") {
		t.Errorf("log:\n%s", s.said())
	}
	pids := strings.Fields(s.file("pids"))
	if len(pids) != 2 {
		t.Fatalf("started %q, want two", pids)
	}
	for _, pid := range pids {
		awaitDeath(t, pid)
	}
}

// awaitDeath waits until a process is gone, or a zombie.
func awaitDeath(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Wait(cluster.Patience, "process "+pid+" is gone", func() bool { return syscall.Kill(n, 0) != nil }); err != nil {
		t.Error(err)
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
}

// A child that a helper leaves behind may keep its output open. That is no failure.
func TestTheStatusOfACheckIsAllThatCounts(t *testing.T) {
	s := play(t, newFake(1), `exit 0`, func(o *Options) {
		o.Wait = 20 * time.Second
		o.Ready = Check{Command: line(t, `sleep 1000 & echo $! >$D/pid`), Every: time.Millisecond, Timeout: 20 * time.Second}
	})
	s.end(0)
	if said := s.said(); strings.Contains(said, "does not campaign") {
		t.Errorf("log:\n%s", said)
	}
	pid, err := strconv.Atoi(s.file("pid"))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestALineNeedsAShell(t *testing.T) {
	if c, err := shellAt("/no/such/shell", "echo up"); c != nil || err == nil || !strings.Contains(err.Error(), `"echo up" is run by a shell, and there is none`) {
		t.Errorf("%q, %v", c, err)
	}
	if c, err := shellAt("/no/such/shell", " "); c != nil || err != nil {
		t.Errorf("nothing to run: %q, %v", c, err)
	}
}

func TestHealthGivesTheGroupUp(t *testing.T) {
	s := play(t, newFake(2), `echo up >$D/up; while :; do sleep 0.01; done`, func(o *Options) {
		o.Health = Check{Command: []string{"sh", "-c", `echo x >>$D/checks; test $REGENT_TOKEN != 41`}, Every: time.Millisecond, Timeout: 20 * time.Second, Failures: 3}
	})
	first := s.lease()
	s.mustBeGone(first)
	if n := strings.Count(s.file("checks"), "x"); n < 3 {
		t.Errorf("gave up after %d failures", n)
	}
	s.lease()
	s.send(syscall.SIGTERM)
	s.end(0)
	if !strings.Contains(s.said(), "not healthy: sh failed 3 times") {
		t.Errorf("log:\n%s", s.said())
	}
}

func TestAHostThatIsNotReadyDoesNotCampaign(t *testing.T) {
	s := play(t, newFake(1), `exit 0`, func(o *Options) {
		o.Ready = Check{Command: []string{"sh", "-c", `test -e $D/ready && exit; echo >$D/asked; echo no disk; exit 1`}, Every: time.Millisecond, Timeout: 20 * time.Second}
	})
	s.file("asked")
	if n := len(s.agent.leases); n > 0 {
		t.Error("campaigned")
	}
	if err := os.WriteFile(filepath.Join(s.dir, "ready"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.lease()
	s.end(0)
	if !strings.Contains(s.said(), "does not campaign for g: sh: exit status 1: no disk") {
		t.Errorf("log:\n%s", s.said())
	}
}

// Another host leads as soon as the group is given up: by then the address that a hook takes away is gone.
func TestLostHooksRunBeforeTheGroupIsGivenUp(t *testing.T) {
	agent, dir := newFake(1), t.TempDir()
	agent.released = func() {
		if _, err := os.Stat(filepath.Join(dir, "down")); err != nil {
			t.Errorf("given up before the lost hook has ended: %v", err)
		}
	}
	s := play(t, agent, `exit 0`, func(o *Options) { o.Hooks.Lost = line(t, `sleep 0.2; echo down >`+dir+`/down`) })
	s.mustBeGone(s.lease())
	s.end(0)
}

// A runner may be held up for any time before its program execs.
func TestNothingExecsThatWasHeldUpPastItsDeadline(t *testing.T) {
	s := play(t, newFake(1), `echo up >$D/up`, func(o *Options) {
		o.Once = true
		o.Hooks.Elected = line(t, `echo in >$D/in; while ! test -e $D/go; do sleep 0.01; done`)
	})
	l := s.lease()
	s.file("in")
	l.leave(0) // before anybody has noticed
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-l.stopped
	s.end(StatusLost)
	if _, err := os.Stat(filepath.Join(s.dir, "up")); err == nil {
		t.Error("the program was started after its lease")
	}
}

// A runner may be held up between fork and exec as well. It then does not open the gate, before which the first process waits.
func TestGateStaysShutAfterTheDeadline(t *testing.T) {
	reaper, err := tree.ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []bool{false, true} {
		prepared, _, err := reaper.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		a := newFake(0)
		r := &runner{Options: Options{Group: "g", Command: []string{"true"}, Log: t.Logf, Env: os.Environ(), Files: []*os.File{nil, nil, os.Stderr}},
			path: "/bin/true", reaper: reaper, agent: a, terms: a.terms}
		l := r.newLife(prepared)
		upper := &fakeLease{agent: a, take: l.take, stopped: make(chan struct{}), ref: prepared.Ref(), until: a.clock.Now().Add(fakeLength)}
		if late {
			a.started = func() { upper.leave(0) } // before anybody has noticed
		}
		l.enter(upper)
		l.take(Notice{Event: tenure.Event{Kind: tenure.Elected, Token: 41, At: a.clock.Now(), Until: upper.until}})
		<-l.decided
		if opened := l.isRunning(); opened == late {
			t.Errorf("late %v: the gate is open %v", late, opened)
		}
		<-l.forgotten
	}
}
