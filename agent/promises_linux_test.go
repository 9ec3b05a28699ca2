package agent

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// heartbeatOf returns how long the program that leads a group may be silent.
func heartbeatOf(t *testing.T, a *testAgent, group string) time.Duration {
	t.Helper()
	k := a.agent.leader(group)
	if k == nil {
		t.Fatalf("no program leads %s", group)
	}
	return k.heartbeat
}

// The agent notices a paused Go program after 3 s or as the program asks, and a runner after two leases, at least 6 s.
func TestHowLongProgramsAndRunnersMayBeSilent(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]time.Duration{"timing: {lease: 2s}\n": 6 * time.Second, "timing: {lease: 4s}\n": 8 * time.Second} {
		a := open(t, 1, more).agents[0]
		if _, err := must(a.dialled(t).Group("program")).Campaign(patience(t)); err != nil {
			t.Fatal(err)
		}
		if got := heartbeatOf(t, a, "program"); got != 3*time.Second {
			t.Errorf("a program may be silent for %v", got)
		}
		c, err := regent.Dial(patience(t), a.socket, regent.Heartbeat(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := must(c.Group("asks")).Campaign(patience(t)); err != nil {
			t.Fatal(err)
		}
		if got := heartbeatOf(t, a, "asks"); got != 5*time.Second {
			t.Errorf("a program that asks for 5 s may be silent for %v", got)
		}
		r, err := run.Dial(patience(t), a.socket)
		if err != nil {
			t.Fatal(err)
		}
		elected := make(chan struct{}, 1)
		up, err := r.Campaign(run.Candidacy{Group: "runner", Tree: tree.Ref{Mark: "0123456789abcdef", Ref: tenure.Ref{Runner: tenure.Identity{Pid: os.Getpid()}}},
			Take: func(n run.Notice) {
				if n.Event.Kind == tenure.Elected {
					elected <- struct{}{}
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		<-elected
		if got := heartbeatOf(t, a, "runner"); got != want {
			t.Errorf("with %q a runner may be silent for %v, want %v", more, got, want)
		}
		up.Stopped(a.agent.causeFor(regent.Cause{}))
	}
}

// A candidate over HTTP gets the lease less the delay that the configuration calls fast.
func TestStreamOverHTTPIsToldLessTheDelay(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "").agents[0]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Resign(patience(t)) }()
	n, k := &streamNotifier{agent: a.agent}, a.agent.leader("g")
	before := a.agent.now()
	told := n.newEvent(k).ValidFor
	if most := k.announced().Sub(before) - a.agent.timing.Delay; told <= 0 || told > most {
		t.Errorf("told %v, and at most %v are left", told, most)
	}
}

// The log names what the agent cannot prove to be gone.
func TestLogNamesWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	a, done := open(t, 1, "").agents[0], make(chan struct{})
	w := newWatchedTree(a.agent, "g", tree.Ref{}, 0)
	w.found = func(func() bool, tenure.Kind) { close(done) }
	w.look = func(context.Context) tree.Result {
		return tree.Result{Search: tenure.Search{Foreign: 1}, Foreign: []tree.Process{{Identity: tenure.Identity{Pid: 4711}, Name: "sudo"}}}
	}
	w.begin()
	<-done
	if log := a.log.String(); !strings.Contains(log, "4711 (sudo, user 0)") {
		t.Errorf("log:\n%s", log)
	}
}

// A program that counts from when it reads a line may read late, on a clock that is slow.
func TestRemainingIsLessTheGuardTimeAndATwelfth(t *testing.T) {
	a := &Agent{timing: regent.LAN}
	if got, want := a.allow(1200*time.Millisecond), 1100*time.Millisecond-regent.LAN.Guard; got != want {
		t.Errorf("of 1.2 s %v are told, want %v", got, want)
	}
}
