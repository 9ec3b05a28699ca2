package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	runner "github.com/regentproject/regent/agent/run"
)

// A keeper is as the runner is, but in a session of its own, and not where it dies with the program.
func TestKeeperIsAsItsRunnerAndApartFromTheProgram(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"})
	h.start("a", "sh", "-c", "echo program $$ >>"+h.log+"; exec sleep 1000")
	program := strings.Fields(h.lines(2)[1])[1]
	runner := strconv.Itoa(h.Process(runnerOf("a")).Pid())
	keeper := strconv.Itoa(keeperOf(t, h.Process(runnerOf("a")).Pid()))
	read := func(pid, name string) string {
		b, err := os.ReadFile("/proc/" + pid + "/" + name)
		h.check(err)
		return string(b)
	}
	for _, name := range []string{"limits", "cgroup"} {
		if its, of := read(keeper, name), read(runner, name); its != of {
			t.Errorf("%s of the keeper:\n%s\nof the runner:\n%s", name, its, of)
		}
	}
	if read(keeper, "cgroup") == read(program, "cgroup") {
		t.Error("the keeper is in the cgroup of the program, or the program has none")
	}
	users := func(pid string) []string {
		var all []string
		for line := range strings.Lines(read(pid, "status")) {
			if strings.HasPrefix(line, "Uid:") || strings.HasPrefix(line, "Gid:") {
				all = append(all, line)
			}
		}
		return all
	}
	if its, of := fmt.Sprint(users(keeper)), fmt.Sprint(users(runner)); its != of {
		t.Errorf("the keeper runs as %s and the runner as %s", its, of)
	}
	env := []byte("\x00" + read(keeper, "environ"))
	for _, line := range strings.Split(strings.TrimSuffix(read(runner, "environ"), "\x00"), "\x00") {
		if !bytes.Contains(env, []byte("\x00"+line+"\x00")) {
			t.Errorf("the keeper lacks %q", line)
		}
	}
	_, stat, _ := strings.Cut(read(keeper, "stat"), ") ")
	if session := strings.Fields(stat)[3]; session != keeper {
		t.Errorf("keeper %s is in the session %s", keeper, session)
	}
}

// A runner reports what it does on its standard error, and nothing with -q.
func TestQuietRunnersAreSilent(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"})
	for name, args := range map[string][]string{"speaks": nil, "silent": {"-q"}} {
		_, err := h.Run(name, "a", name, args, "sh", "-c", "exit 3")
		h.check(err)
		cluster.Eventually(t, "the runner ends", h.Process(name).Ended)
		if log := h.Process(name).Log(); strings.Contains(log, "ended with status 3") != (args == nil) || args != nil && log != "" {
			t.Errorf("a runner with %q writes %q", args, log)
		}
	}
}

func TestHelpOfRunListsFlagsEnvironmentAndStatuses(t *testing.T) {
	t.Parallel()
	out, err := command("run", "--help").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--grace", "--guard", "--on-lost", "--hook-timeout", "REGENT_TOKEN", "REGENT_REASON", strconv.Itoa(runner.StatusFailed), strconv.Itoa(runner.StatusLost), strconv.Itoa(runner.StatusNotElected)} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the help does not mention %s", want)
		}
	}
}
