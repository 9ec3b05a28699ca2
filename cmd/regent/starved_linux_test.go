package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

func init() { commands["spin"] = spin }

// spin keeps a processor busy until its parent is gone.
func spin() {
	for parent := os.Getppid(); os.Getppid() == parent; {
		for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		}
	}
}

// starve starts processes that keep the processors busy until the test ends.
func starve(t *testing.T, processes int) {
	t.Helper()
	for range processes {
		c := exec.Command("spin")
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
}

// starvedBy is how many processes want the processors beside the runner's: few while other tests run, many in long runs.
func starvedBy() int {
	if os.Getenv("REGENT_TEST") == "long" {
		return 20
	}
	return 4
}

// A runner of an ordinary user has neither a cgroup nor real-time scheduling. On a host that is short of CPU its program, which forks and
// starts a daemon, is dead before its successor begins all the same, whatever becomes of the runner.
func TestProgramsOfAStarvedHostEndBeforeTheirSuccessors(t *testing.T) {
	t.Parallel()
	regent := asUsers(t, 0, nobody)
	h := &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: []string{"a", "b", "c"}, Relay: true, Config: runConfig, Regent: regent, SocketMode: "0666",
	})}
	actor := filepath.Join(filepath.Dir(regent("run").Path), "actor")
	h.check(os.Chmod(h.Dir, 0o755), os.Chmod(h.JournalDir(), 0o777), os.Symlink("regent", actor))
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	start := func(name string) {
		_, err := h.Run(runnerOf(name), name, "g", []string{"--restart", "--delay", "10ms", "--grace", "200ms", "--guard", runGuard.String()}, actor, h.JournalDir())
		h.check(err)
	}
	for _, name := range h.Names {
		start(name)
	}
	e := h.next()
	if uid := ownerOf(t, e.Pid); uid != nobody {
		t.Fatalf("the program runs as user %d", uid)
	}
	starve(t, starvedBy())
	for _, scenario := range []struct {
		name     string
		do, undo func(host string)
	}{
		{"the host is cut off", func(host string) { h.check(h.Cut(host)) }, func(host string) { h.check(h.Heal(host)) }},
		{"the runner is stopped and the host cut off", func(host string) { h.check(h.Pause(runnerOf(host)), h.Cut(host)) },
			func(host string) { h.check(h.Heal(host), h.Resume(runnerOf(host))) }},
		{"the agent is stopped", func(host string) { h.check(h.Pause(host)) }, func(host string) { h.check(h.Resume(host)) }},
		{"the runner is killed", func(host string) { h.check(h.Process(runnerOf(host)).Signal(syscall.SIGKILL)) }, func(string) {}},
	} {
		scenario.do(e.Holder)
		next := h.next()
		h.gone(e.Token)
		var last cluster.Time
		for _, s := range h.spans(e.Token) {
			last = max(last, s.Seen)
		}
		t.Logf("%s: the last sign of the program is %v before its successor; it had to be killed %v before the end of its lease", scenario.name, next.Since.Sub(last), runGuard)
		scenario.undo(e.Holder)
		e = next
	}
	h.Judge(t, 5, cluster.Rules{})
}

// ownerOf returns the user of a process.
func ownerOf(t *testing.T, pid int) int {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(filepath.Join("/proc", strconv.Itoa(pid)), &s); err != nil {
		t.Fatal(err)
	}
	return int(s.Uid)
}
