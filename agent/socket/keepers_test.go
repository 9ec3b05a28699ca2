package socket

import (
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A keeper whose runner died before it campaigned has nothing to wait for, and leaves nothing behind.
func TestKeeperThatNobodyClaimedIsReleased(t *testing.T) {
	t.Parallel()
	a := idleSessions(t)
	events := make(chan string, 10)
	k, err := dialIdle(t, a).Keep("0123456789abcdef0123456789abcdef", func(e *session.Event) { events <- e.Event })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{session.Waiting, session.Over} {
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("got %v, want %v", got, want)
			}
		case <-time.After(cluster.Patience):
			t.Fatalf("no %v", want)
		}
		if err := k.Freeze(why.Cause{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.WaitingKeepers(); n != 0 {
		t.Errorf("%d keepers are left", n)
	}
}

// A secret is not enough: a keeper is a child of its runner.
func TestOnlyAChildOfTheRunnerKeeps(t *testing.T) {
	t.Parallel()
	a := idleSessions(t)
	const secret = "0123456789abcdef0123456789abcdef"
	entered := make(chan struct{}, 10)
	if _, err := dialIdle(t, a).Keep(secret, func(*session.Event) { entered <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	<-entered
	answer := make(chan *session.Event, 10)
	if _, err := dialIdle(t, a).Enter(session.Candidate{Group: "g", Secret: secret}, func(e *session.Event) { answer <- e }); err != nil {
		t.Fatal(err)
	}
	if e := <-answer; e.Event != session.Failed || e.Error != "campaign: no keeper with this secret is here" {
		t.Errorf("a process that is no child of the runner is taken for its keeper: %+v", e)
	}
}
