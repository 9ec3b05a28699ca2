package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// A program dies while its agent is paused, and the lease ends at the same time. Runner and agent decide on two causes: the heavier one
// counts at both, in the history and in explain, and the runner, which learns of it later, logs one line.
func TestRunnerAndAgentAgreeOnTheCauseOfAnEnd(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	h := startHooked(t, []string{"a", "b", "c"}, "sh", "-c", "echo $REGENT_MEMBER $$ >>"+pids+"; exec sleep 1000")
	var words []string
	cluster.Eventually(t, "a program leads", func() bool {
		b, _ := os.ReadFile(pids)
		words = strings.Fields(string(b))
		return len(words) >= 2
	})
	first := words[0]
	h.check(h.Pause(first), syscall.Kill(atoi(t, words[1]), syscall.SIGKILL))
	runner := h.Process(runnerOf(first))
	cluster.Eventually(t, "the runner reports the end", func() bool { return strings.Contains(runner.Log(), "ended with status 137") })
	cluster.Eventually(t, "another host leads", func() bool {
		b, _ := os.ReadFile(pids)
		return len(strings.Fields(string(b))) >= 4
	})
	h.check(h.Resume(first))
	cluster.Eventually(t, "the runner ends", runner.Ended)
	cause := "lease expired " + first
	if n := strings.Count(runner.Log(), "the cause of the end was corrected: "+cause); n != 1 {
		t.Errorf("the runner logs %d corrections:\n%s", n, runner.Log())
	}
	for words, args := range map[string][]string{first + " did not renew its lease; ": {"history", "g", "--json"}, cause: {"explain", "g", "--limit", "5"}} {
		out, err := command(append(args, "--socket", h.Socket(first))...).CombinedOutput()
		h.check(err)
		if !strings.Contains(string(out), words) || !strings.Contains(string(out), "the program said that it has stopped") || strings.Contains(string(out), "may be left") {
			t.Errorf("regent %v does not say %q:\n%s", args, words, out)
		}
	}
	if log := h.Process(first).Log(); !strings.Contains(log, "leader=\"\" token=0 mine=false stopping=false cause=\""+cause+"\"") {
		t.Errorf("the log of the agent does not say %q:\n%s", cause, log)
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
