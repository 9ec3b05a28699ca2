package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/secret"
)

// The users of these tests beside root.
const (
	nobody  = 65534
	another = 65533
)

// asUsers makes commands of the command line from a copy that every user may run: agents as one user, runners as another.
func asUsers(t *testing.T, agents, runners uint32) func(args ...string) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "regent-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	path := filepath.Join(dir, "regent")
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		c := command(args...)
		c.Path, c.Err = path, nil
		uid := runners
		if args[0] == "agent" {
			uid = agents
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		return c
	}
}

// Without a cgroup, a worker that has cleared its environment hides from everybody once its runner is dead; and an agent that may not look
// at the processes of a runner's user finds nothing. Neither proves that nothing is left: no other host leads before the end that
// was announced.
func TestNothingIsGivenUpUnderWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	for name, users := range map[string][2]uint32{"hidden workers": {0, nobody}, "agents of another user": {another, nobody}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			regent := asUsers(t, users[0], users[1])
			h := &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Config: runConfig, Regent: regent})}
			shared := filepath.Join(h.Dir, "shared")
			h.check(os.Chmod(h.Dir, 0o755), os.Chown(h.Dir, int(users[0]), -1), os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777))
			for _, name := range h.Names {
				dir := filepath.Join(h.Dir, name)
				h.check(h.WriteConfig(name), os.Chown(h.ConfigFile(name), int(users[0]), -1), os.Chown(dir, int(users[0]), -1),
					os.Chown(filepath.Join(dir, secret.PrivateName), int(users[0]), -1))
				h.startAgent(name)
			}
			h.check(h.AwaitAgents(h.Names...))
			log, worker := filepath.Join(shared, "log"), filepath.Join(shared, "worker")
			for _, name := range h.Names {
				h.check(os.Chmod(h.Socket(name), 0o777))
				_, err := h.Run(runnerOf(name), name, "g", []string{"--on-elected", "date +%s.%N >>" + log + "; echo " + name + " >>" + log},
					"sh", "-c", "env -i /bin/sleep 31415 & echo $! >>"+worker+"; wait")
				h.check(err)
			}
			words := func(n int) []string {
				var all []string
				cluster.Eventually(t, "programs lead", func() bool {
					b, _ := os.ReadFile(log)
					all = strings.Fields(string(b))
					return len(all) >= n
				})
				return all
			}
			first := words(2)[1]
			if agent, runner := ownerOf(t, h.Process(first).Pid()), ownerOf(t, h.Process(runnerOf(first)).Pid()); agent != int(users[0]) || runner != int(users[1]) {
				t.Fatalf("the agent runs as user %d and the runner as user %d, want %v", agent, runner, users)
			}
			const warning = "the agent may not kill what a runner starts"
			if log := h.Process(first).Log(); strings.Contains(log, warning) != (users[0] != 0) {
				t.Errorf("the log of an agent of user %d, whose runner is of user %d:\n%s", users[0], users[1], log)
			}
			cluster.Eventually(t, "the worker runs", func() bool { b, _ := os.ReadFile(worker); return len(b) > 1 })
			killed := time.Now()
			h.check(h.Process(runnerOf(first)).Signal(syscall.SIGKILL))
			var next float64
			_, err := fmt.Sscan(words(4)[2], &next)
			h.check(err)
			// A lease of 3 s is renewed at least once a second.
			if took := time.Unix(0, int64(next*1e9)).Sub(killed); took < 1200*time.Millisecond {
				t.Errorf("another host leads %v after the runner was killed", took)
			}
			killWorkers(worker)
		})
	}
}

// killWorkers ends the workers that a test has left on purpose.
func killWorkers(file string) {
	b, _ := os.ReadFile(file)
	for _, word := range strings.Fields(string(b)) {
		var pid int
		_, _ = fmt.Sscan(word, &pid)
		if line, _ := os.ReadFile("/proc/" + word + "/cmdline"); string(line) == "/bin/sleep\x0031415\x00" {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A runner whose standard error nobody reads any more lives on, and its leadership with it.
func TestRunnerOutlivesItsStandardError(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"}, "sleep", "1000")
	h.lines(1)
	h.Finish(t, runnerOf("a"))
	r, w, err := os.Pipe()
	h.check(err)
	c := command("run", "g", "--socket", h.Socket("a"), "--on-elected", "echo again >>"+h.log, "--grace", "100ms", "--restart", "--delay", "1ms", "--", "sh", "-c", "sleep 0.1")
	c.Stderr = w
	h.check(c.Start(), w.Close(), r.Close())
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	h.lines(4) // it has logged between them
	h.check(c.Process.Signal(syscall.SIGTERM))
	if err := c.Wait(); err != nil {
		t.Errorf("the runner ended with %v", err)
	}
}
