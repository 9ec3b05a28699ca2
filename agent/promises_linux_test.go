package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run"
	"github.com/regentproject/regent/internal/session"
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

// The agent notices a paused runner after two leases, at least 6 s, also if the configuration sets them by group. A Go program without a lease of its own has two of the agent's default.
func TestHowLongProgramsAndRunnersMayBeSilent(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]struct{ program, runner time.Duration }{
		"timing: {lease: 2s}\n":            {6 * time.Second, 6 * time.Second},
		"timing: {lease: 4s}\n":            {8 * time.Second, 8 * time.Second},
		"timing: {lease: 2s}\nlease: 5s\n": {10 * time.Second, 10 * time.Second},
		"timing: {lease: 2s, longest_lease: 5s}\nleases: [{groups: [runner], lease: 5s}]\n": {6 * time.Second, 10 * time.Second},
	} {
		a := open(t, 1, more).agents[0]
		if _, err := must(a.dialled(t).Group("program")).Campaign(patience(t)); err != nil {
			t.Fatal(err)
		}
		if got := heartbeatOf(t, a, "program"); got != want.program {
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
		up, err := r.Campaign(session.Candidate{Group: "runner", Page: true, Claim: &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}}, func(n run.Notice) {
			if n.Lease == 0 && n.Event.Kind == tenure.Elected {
				elected <- struct{}{}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		<-elected
		if got := heartbeatOf(t, a, "runner"); got != want.runner {
			t.Errorf("with %q a runner may be silent for %v, want %v", more, got, want.runner)
		}
		up.Stopped(a.agent.core.CauseFor(regent.Cause{}))
	}
}

// A program that asks for long leases survives pauses that are shorter than two of them.
func TestProgramWithLongLeasesMayBeSilentForTwoOfThem(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "timing: {lease: 2s, longest_lease: 5s}\n").agents[0]
	if _, err := must(a.dialled(t).Group("long")).WithLease(5 * time.Second).Campaign(patience(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := heartbeatOf(t, a, "long"), 10*time.Second; got != want {
		t.Errorf("a program with leases of 5s may be silent for %v, want %v", got, want)
	}
}

// The guard time of a runner must fit the leases of its group, which are longer or shorter than the council's.
func TestGuardOfARunnerFitsTheLeasesOfItsGroup(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "timing: {lease: 2s, longest_lease: 5s}\nleases: [{groups: [short], lease: 300ms}, {groups: [long], lease: 5s}]\n").agents[0]
	for _, c := range []struct {
		group        string
		lease, guard time.Duration
		granted      time.Duration // zero: refused
	}{
		{group: "short", guard: 250 * time.Millisecond},
		{group: "short", guard: 60 * time.Millisecond, granted: 300 * time.Millisecond},
		{group: "short", guard: 250 * time.Millisecond, lease: time.Second, granted: time.Second},
		{group: "long", guard: 3 * time.Second, granted: 5 * time.Second},
		{group: "other", guard: 3 * time.Second},
		{group: "other", guard: time.Second, granted: 2 * time.Second},
	} {
		r := must(run.Dial(patience(t), a.socket))
		answers := make(chan run.Notice, 10)
		up, err := r.Campaign(session.Candidate{Group: c.group, Lease: c.lease, Page: true, Claim: &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}, Guard: c.guard},
			func(n run.Notice) { answers <- n })
		if err != nil {
			t.Fatal(err)
		}
		n := <-answers
		if n.Lease != c.granted || (n.Err == nil) != (c.granted != 0) {
			t.Errorf("%s with a guard of %v: leases of %v are granted, error %v; want %v", c.group, c.guard, n.Lease, n.Err, c.granted)
		}
		if n.Err != nil && !strings.Contains(n.Err.Error(), "does not fit leases of") {
			t.Errorf("%s with a guard of %v: refused with %v", c.group, c.guard, n.Err)
		}
		up.Stopped(a.agent.core.CauseFor(regent.Cause{}))
		_ = r.Close()
	}
}
