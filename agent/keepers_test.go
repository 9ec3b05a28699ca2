package agent

import (
	"testing"

	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A keeper whose runner died before it campaigned has nothing to wait for, and leaves nothing behind.
func TestKeeperThatNobodyClaimedIsReleased(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "").agents[0]
	events := make(chan string, 10)
	k, err := a.dial(t).Keep("0123456789abcdef0123456789abcdef", func(e *session.Event) { events <- e.Event })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{session.Waiting, session.Over} {
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("got %v, want %v", got, want)
			}
		case <-patience(t).Done():
			t.Fatalf("no %v", want)
		}
		if err := k.Freeze(why.Cause{}); err != nil {
			t.Fatal(err)
		}
	}
	a.agent.keepers.mu.Lock()
	defer a.agent.keepers.mu.Unlock()
	if n := len(a.agent.keepers.all); n != 0 {
		t.Errorf("%d keepers are left", n)
	}
}

// A secret is not enough: a keeper is a child of its runner.
func TestOnlyAChildOfTheRunnerKeeps(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "").agents[0]
	const secret = "0123456789abcdef0123456789abcdef"
	entered := make(chan struct{}, 10)
	if _, err := a.dial(t).Keep(secret, func(*session.Event) { entered <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	<-entered
	answer := make(chan *session.Event, 10)
	if _, err := a.dial(t).Enter(session.Candidate{Group: "g", Keeper: secret}, func(e *session.Event) { answer <- e }); err != nil {
		t.Fatal(err)
	}
	if e := <-answer; e.Event != session.Failed || e.Error != "campaign: no keeper with this secret is here" {
		t.Errorf("a process that is no child of the runner is taken for its keeper: %+v", e)
	}
}
