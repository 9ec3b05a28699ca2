package processes

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"golang.org/x/sys/unix"
)

// Who asks the agent to kill is believed about itself only, and about no shorter guard time than the agent's.
func TestARunnerIsBelievedOnlyAboutItself(t *testing.T) {
	a := &Trees{Log: slog.New(slog.DiscardHandler), Guard: regent.LAN.Guard}
	own := &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}
	self, other := peerWith(t, os.Getpid()), peerWith(t, os.Getppid())
	if _, err := a.Claim(&session.Candidate{Claim: own}, other); err == nil || !strings.Contains(err.Error(), "is not the process that asks") {
		t.Errorf("another process was believed: %v", err)
	}
	for asked, want := range map[time.Duration]time.Duration{0: regent.LAN.Guard, time.Millisecond: regent.LAN.Guard, time.Second: time.Second} {
		k, err := a.Claim(&session.Candidate{Claim: own, Guard: asked}, self)
		if err != nil || k.Guard != want {
			t.Errorf("guard %v: %+v, %v, want %v", asked, k, err, want)
		}
	}
	// A program that is no runner has nothing to be killed.
	k, err := a.Claim(&session.Candidate{}, self)
	if k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
}

// peerWith returns the process with the number as if it had opened a connection.
func peerWith(t *testing.T, pid int) *Peer {
	t.Helper()
	p, err := OpenPeer(pid, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// The log names what the agent cannot prove to be gone.
func TestLogNamesWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	done := make(chan struct{})
	w := (&Trees{Ordinary: true, Log: slog.New(slog.NewTextHandler(&log, nil))}).Watch("g", tree.Ref{}, 0)
	w.Found = func(func() bool, tenure.Kind) { close(done) }
	w.Look = func(context.Context) tree.Result {
		return tree.Result{Search: tenure.Search{Foreign: 1}, Foreign: []tree.Process{{Identity: tenure.Identity{Pid: 4711}, Name: "sudo"}}}
	}
	w.Begin()
	<-done
	if !strings.Contains(log.String(), "4711 (sudo, user 0)") {
		t.Errorf("log:\n%s", &log)
	}
}

// The agent's own killers heed its configuration.
func TestOrdinaryAgentsKillWithOrdinaryThreads(t *testing.T) {
	policy := make(chan uint32, 1)
	w := (&Trees{Ordinary: true, Log: slog.New(slog.DiscardHandler)}).Watch("g", tree.Ref{}, 0)
	w.Found = func(func() bool, tenure.Kind) {}
	w.Look = func(context.Context) tree.Result {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
			attr = new(unix.SchedAttr)
		}
		policy <- attr.Policy
		return tree.Result{Search: tenure.Search{Cgroup: tenure.Empty}}
	}
	w.Begin()
	if p := <-policy; p != unix.SCHED_NORMAL {
		t.Errorf("the killer has policy %d", p)
	}
}
