package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// keeperOf returns the keeper of a runner.
func (h *runCluster) keeperOf(runner int) int {
	h.t.Helper()
	all := family(runner)
	i := slices.IndexFunc(all, func(pid int) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && strings.HasPrefix(string(text), "regent-keep\x00")
	})
	if i < 0 {
		h.t.Fatalf("runner %d has no keeper among %v", runner, all)
	}
	return all[i]
}

// With the default lease a pause of a second costs nothing, wherever in the chain it is: the leader is the same, with the same token, and the same process is its program.
func TestPausesOfASecondCostNothing(t *testing.T) {
	t.Parallel()
	for range 3 {
		if pausesCostNothing(t) {
			return
		}
	}
	t.Fatal("this host is too busy: pauses of a second took longer than leases survive")
}

// pausesCostNothing pauses one process after the other in a new council. It returns false if this host has stretched a pause beyond what the lease
// survives: such a pause proves nothing, and may have cost the leadership.
func pausesCostNothing(t *testing.T) bool {
	t.Helper()
	const pause, tolerated = time.Second, 3500 * time.Millisecond
	h := startDefaults(t, "")
	runner := h.sleeper("a", "g")
	program, token := h.runs("g", 0)
	h.waits(h.sleeper("b", "g"))
	c, err := regent.Dial(t.Context(), h.Socket("b"))
	h.check(err)
	defer c.Close()
	g, err := c.Group("g")
	h.check(err)
	for _, v := range []struct {
		what string
		pid  int
	}{
		{"the program", program}, {"its runner", runner.Pid()}, {"its keeper", h.keeperOf(runner.Pid())}, {"the leader's agent", h.Process("a").Pid()}, {"a voter's agent", h.Process("c").Pid()},
	} {
		took := h.pause(pause, v.pid)
		if took > tolerated {
			t.Logf("%s was stopped for %v", v.what, took)
			return false
		}
		p, err := g.Verify(t.Context())
		if err != nil || p.Leader != "a" || p.Token != token {
			t.Errorf("%s was stopped for %v: now %+v, %v; a led with token %d\n%s", v.what, took, p, err, token, runner.Log())
		}
		if parentOf(program) != runner.Pid() {
			t.Errorf("%s was stopped for %v, and the program is gone:\n%s", v.what, took, runner.Log())
		}
	}
	if strings.Contains(runner.Log(), "stopped leading") {
		t.Errorf("the program was stopped:\n%s", runner.Log())
	}
	return true
}
