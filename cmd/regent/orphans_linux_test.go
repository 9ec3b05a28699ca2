package main

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// When agent and runner are killed together nobody is left to kill what the runner started. The next start of the agent does.
func TestAnAgentThatComesBackKillsWhatItsRunnerLeftBehind(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.next()
	runner, agent := h.runners[e.member], h.agents[e.member]
	h.signal(runner, syscall.SIGSTOP) // or it would kill them itself when it sees that the agent is gone
	h.signal(agent, syscall.SIGKILL)
	_ = agent.Wait()
	h.signal(runner, syscall.SIGKILL)
	_ = runner.Wait()
	h.next() // others lead meanwhile
	if !slices.ContainsFunc(h.diaries(), func(d entry) bool { return d.token == e.token && alive(d.pid) }) {
		t.Fatal("there is nothing to show: everything died with the runner")
	}
	h.startAgent(e.member)
	h.gone(e.token)
	trees := filepath.Join(h.work, e.member, "trees")
	h.eventually("nothing is written down", func() bool {
		left, err := os.ReadDir(trees)
		return err == nil && len(left) == 0
	})
}
