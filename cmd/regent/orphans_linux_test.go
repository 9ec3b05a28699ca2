package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// When agent, runner and keeper are killed together nobody is left to kill what the runner started. The next start of the agent does.
func TestAnAgentThatComesBackKillsWhatItsRunnerLeftBehind(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	e := h.next()
	h.check(h.Pause(runnerOf(e.Holder))) // or it would kill them itself when it sees that the agent is gone
	keeper := keeperOf(t, h.Process(runnerOf(e.Holder)).Pid())
	h.check(syscall.Kill(keeper, syscall.SIGKILL), h.Crash(e.Holder), h.Process(runnerOf(e.Holder)).Signal(syscall.SIGKILL))
	h.next() // others lead meanwhile
	if _, left := h.alive(e.Token); !left {
		t.Fatal("there is nothing to show: everything died with the runner")
	}
	h.startAgent(e.Holder)
	h.gone(e.Token)
	trees := filepath.Join(h.Dir, e.Holder, "trees")
	cluster.Eventually(t, "nothing is written down", func() bool {
		left, err := os.ReadDir(trees)
		return err == nil && len(left) == 0
	})
}

// keeperOf returns the keeper of a runner.
func keeperOf(t *testing.T, runner int) int {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		b, _ := os.ReadFile(name)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if string(b) == "regent-keep\x00" && parentOf(pid) == runner {
			return pid
		}
	}
	t.Fatalf("runner %d has no keeper", runner)
	return 0
}
