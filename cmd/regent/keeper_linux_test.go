package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// hooked is a cluster whose runners write down what their hooks do, all into one file.
type hooked struct {
	*runCluster
	log string
	// before is what lost hooks do before they write.
	before string
}

// startHooked starts agents, and runners of a program if there is one.
func startHooked(t *testing.T, names []string, program ...string) *hooked {
	t.Helper()
	h := &hooked{log: filepath.Join(t.TempDir(), "log"), runCluster: &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: names, Config: runConfig, Regent: command,
	})}}
	for _, name := range names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(names...))
	for _, name := range names {
		if len(program) > 0 {
			h.start(name, program...)
		}
	}
	return h
}

// startSlowHooked starts three hosts whose lost hooks take longer than an election.
func startSlowHooked(t *testing.T) *hooked {
	t.Helper()
	h := startHooked(t, []string{"a", "b", "c"})
	h.before = "sleep 0.5; "
	for _, name := range h.Names {
		h.start(name, "sleep", "1000")
	}
	return h
}

func (h *hooked) start(name string, program ...string) {
	h.t.Helper()
	h.startWith(name, "echo up "+name+" >>"+h.log, program...)
}

// startWith starts a runner with an elected hook.
func (h *hooked) startWith(name, elected string, program ...string) {
	h.t.Helper()
	_, err := h.Run(runnerOf(name), name, "g", []string{"--on-elected", elected, "--on-lost", h.before + "echo down " + name + " $REGENT_REASON >>" + h.log,
		"--grace", "200ms"}, program...)
	h.check(err)
}

// lines waits until the hooks have written a number of lines, and returns them.
func (h *hooked) lines(n int) []string {
	h.t.Helper()
	var all []string
	cluster.Eventually(h.t, fmt.Sprintf("hooks write %d lines", n), func() bool {
		b, _ := os.ReadFile(h.log)
		all = strings.Split(strings.TrimSpace(string(b)), "\n")
		return len(b) > 0 && len(all) >= n
	})
	return all
}

// holder returns the host of a line.
func holder(line string) string { return strings.Fields(line)[1] }

// A runner that is killed cannot run its hooks: its keeper does, before another host leads.
func TestKeeperRunsTheHooksOfAKilledRunner(t *testing.T) {
	t.Parallel()
	h := startSlowHooked(t)
	first := holder(h.lines(1)[0])
	h.check(h.Process(runnerOf(first)).Signal(syscall.SIGKILL))
	lines := h.lines(3)
	if want := "down " + first + " lost"; lines[1] != want || !strings.HasPrefix(lines[2], "up ") {
		t.Errorf("hooks wrote %q, want %q before another leads", lines, want)
	}
	cluster.Eventually(t, "the keeper ends", func() bool { return h.Process(runnerOf(first)).Ended() })
}

// Before another host leads, the lost hook of the old one has ended: an address is on one host only.
func TestTransferRunsTheLostHookFirst(t *testing.T) {
	t.Parallel()
	h := startSlowHooked(t)
	first := holder(h.lines(1)[0])
	to := "a"
	if first == to {
		to = "b"
	}
	cluster.Eventually(t, "the group is transferred", func() bool { return h.regent("transfer", "g", to, "--socket", h.Socket(first)) == nil })
	lines := h.lines(3)
	if want := []string{"up " + first, "down " + first + " resigned", "up " + to}; !slices.Equal(lines[:3], want) {
		t.Errorf("hooks wrote %q, want %q", lines, want)
	}
}

// A runner and a keeper that are killed together cannot run the lost hooks. The agent does not either, and logs that.
func TestHooksOfARunnerKilledWithItsKeeperDoNotRun(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a", "b", "c"}, "sleep", "1000")
	first := holder(h.lines(1)[0])
	runner := h.Process(runnerOf(first))
	keeper := keeperOf(t, runner.Pid())
	h.check(h.Pause(runnerOf(first)), syscall.Kill(keeper, syscall.SIGKILL), runner.Signal(syscall.SIGKILL))
	lines := h.lines(2)
	if next := holder(lines[1]); !strings.HasPrefix(lines[1], "up ") || next == first {
		t.Errorf("hooks wrote %q, want that another host leads", lines)
	}
	cluster.Eventually(t, "the agent logs that the hooks did not run", func() bool { return strings.Contains(h.Process(first).Log(), "hooks did not run") })
}

// An elected hook that its runner left behind acts no more when the lost hooks run, nor does anything that it started.
func TestKeeperEndsTheElectedHookOfAKilledRunner(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"})
	h.startWith("a", "sh -c 'echo $$ >>"+h.log+"; exec sleep 1000'; wait", "true")
	pid := h.lines(1)[0]
	h.check(h.Process(runnerOf("a")).Signal(syscall.SIGKILL))
	h.lines(2)
	if b, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(b), ") Z ") {
		t.Errorf("the lost hook ran while process %s of the elected hook was alive", pid)
	}
}

// A runner that is stopped kills nothing, and its agent is dead: the keeper kills when the deadline comes.
func TestKeeperKillsWhenRunnerAndAgentCannot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	h := startHooked(t, []string{"a"}, "sh", "-c", "echo $$ >"+file+"; while :; do sleep 0.05; done")
	h.lines(1)
	var pid int
	cluster.Eventually(t, "the program runs", func() bool {
		b, _ := os.ReadFile(file)
		n, _ := fmt.Sscan(string(b), &pid)
		return n == 1
	})
	h.check(h.Pause(runnerOf("a")), h.Process("a").Signal(syscall.SIGKILL))
	cluster.Eventually(t, "the program is killed", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
	h.check(h.Resume(runnerOf("a")))
}

// A runner that was paused alone has renewals to read, which count before its deadline does.
func TestPausedRunnerReadsItsRenewalsFirst(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"}, "sleep", "1000")
	h.lines(1)
	h.check(h.Pause(runnerOf("a")))
	time.Sleep(3 * time.Second) // wall clock: as long as a lease
	h.check(h.Resume(runnerOf("a")))
	time.Sleep(time.Second) // wall clock: what must not happen
	if b, _ := os.ReadFile(h.log); strings.TrimSpace(string(b)) != "up a" {
		t.Errorf("hooks wrote %q", b)
	}
}

// Killers have real-time scheduling. Nothing that a runner or a keeper starts inherits it: a program could hold a processor for itself.
func TestProgramHooksAndKeeperAreOrdinary(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"})
	// In /proc/PID/stat the 41st field is the policy; zero is the ordinary one.
	policy := func(what string) string { return "echo " + what + " $(cut -d' ' -f41 /proc/self/stat) >>" + h.log }
	_, err := h.Run(runnerOf("a"), "a", "g", []string{"--on-elected", policy("elected"), "--on-lost", policy("lost"), "--grace", "200ms", "--restart", "--delay", "1ms"},
		"sh", "-c", policy("program")+"; exec sleep 1000")
	h.check(err)
	h.lines(2)
	h.check(h.regent("resign", "g", "--socket", h.Socket("a"))) // the runner kills, and runs the lost hook
	h.lines(5)
	runner := h.Process(runnerOf("a"))
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", keeperOf(t, runner.Pid())))
	h.check(err)
	if got := strings.Fields(string(stat))[40]; got != "0" {
		t.Errorf("the keeper has policy %s", got)
	}
	h.check(runner.Signal(syscall.SIGKILL)) // the keeper does
	want := []string{"elected 0", "program 0", "lost 0", "elected 0", "program 0", "lost 0"}
	if lines := h.lines(len(want)); !slices.Equal(lines, want) {
		t.Errorf("policies are %q", lines)
	}
}
