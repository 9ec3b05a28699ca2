//go:build unix

package run

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// Whoever waits hears who leads, once, and again when that changes; not what passes by while a leader is elected.
func TestWaitingSaysWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		w := &leaderLog{group: "g", self: "a", log: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
		w.update("", "started")
		time.Sleep(2 * leaderLogDelay)
		w.update("b", "elected b")
		w.update("b", "elected b")
		w.update("", "suspected b")
		time.Sleep(leaderLogDelay / 2)
		w.update("c", "elected c")
		w.update("", "no quorum")
		time.Sleep(2 * leaderLogDelay)
		w.update("a", "elected a")
		time.Sleep(2 * leaderLogDelay)
		w.update("", "resigned a")
		w.end()
		time.Sleep(2 * leaderLogDelay)
		w.update("b", "elected b")
		want := []string{
			"waits to lead g: no leader is known yet ('regent status' shows whether the agent takes part)",
			"waits to lead g: b leads it now",
			"waits to lead g: c leads it now",
			"waits to lead g: no member leads it now (no quorum)",
			"waits to lead g: another program of this host leads it now",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("said %q, want %q", lines, want)
		}
	})
}

// In groups that hosts lead a host leads also while no program of it does.
func TestWaitingForATurnNamesNoOtherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		w := &leaderLog{group: "g", self: "a", hosts: true, log: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
		w.update("a", "elected a")
		time.Sleep(2 * leaderLogDelay)
		w.end()
		if want := []string{"waits to lead g: this host leads it now, and its programs take turns"}; !slices.Equal(lines, want) {
			t.Errorf("said %q, want %q", lines, want)
		}
	})
}

// A runner that says that it waits is a candidate: the leader hands over to it. Its keeper takes longer to start than a group is handed over.
func TestARunnerThatWaitsSaysSo(t *testing.T) {
	s := play(t, newFake(0), `echo never`, nil)
	for _, leader := range []string{"b", "c"} { // when it takes the second it has said the first
		select {
		case s.agent.believed <- [2]string{leader, "elected " + leader}:
		case <-time.After(cluster.Patience):
			t.Fatal("does not ask who leads")
		}
	}
	s.send(syscall.SIGTERM)
	s.end(0)
	if s.agent.early.Load() {
		t.Error("the runner says that it waits before it has campaigned")
	}
	if want := "waits to lead g: b leads it now"; s.said() != want && s.said() != want+"\nwaits to lead g: c leads it now" {
		t.Errorf("log:\n%s\nwant %s", s.said(), want)
	}
}
