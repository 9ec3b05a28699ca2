package agent

import (
	"os"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/tenure"
)

// heartbeatOf returns how long the program that leads a group may be silent.
func heartbeatOf(t *testing.T, a *testAgent, group string) time.Duration {
	t.Helper()
	k := a.agent.core.Leader(group)
	if k == nil {
		t.Fatalf("no program leads %s", group)
	}
	return k.Heartbeat
}

// The agent notices a paused Go program after 6 s or as the program asks, and a runner after two leases, at least 6 s.
func TestHowLongProgramsAndRunnersMayBeSilent(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]time.Duration{"timing: {lease: 2s}\n": 6 * time.Second, "timing: {lease: 4s}\n": 8 * time.Second} {
		a := open(t, 1, more).agents[0]
		if _, err := must(a.dialled(t).Group("program")).Campaign(patience(t)); err != nil {
			t.Fatal(err)
		}
		if got := heartbeatOf(t, a, "program"); got != 6*time.Second {
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
		up.Stopped(a.agent.core.CauseFor(regent.Cause{}))
	}
}
