//go:build unix

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/tenure"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
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

func TestOnAnEngineWithoutTokensTheProgramGetsNone(t *testing.T) {
	agent := newFake(1)
	agent.noToken = true
	s := play(t, agent, `echo $REGENT_GROUP token=$REGENT_TOKEN term=$REGENT_TERM >$D/env`, nil)
	if got, want := s.file("env"), "g token= term="; got != want {
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

// A runner whose agent has died names that, and not a renewal that was late.
func TestAgentThatHasGoneIsTheCause(t *testing.T) {
	s := play(t, newFake(1), `echo up >$D/up; while :; do sleep 0.01; done`, func(o *Options) { o.Once = true })
	l := s.lease()
	s.file("up")
	l.take(Notice{Event: tenure.Event{Kind: tenure.UpperGone}})
	s.end(StatusLost)
	if !strings.Contains(s.said(), "the agent has gone") || strings.Contains(s.said(), "in time") {
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
	s.mustStart(l) // what is being forked when the lease is lost proves nothing: then the group is not given up
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
