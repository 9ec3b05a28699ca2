package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

func init() { commands["actor"] = actor }

// actor is a program that leads: actor JOURNALS. As long as it lives it writes a journal, and so does a daemon that it starts. Both
// ignore SIGTERM.
func actor() {
	journals := os.Args[1]
	if len(os.Args) == 2 {
		c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"actor", journals, "daemon"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
		if err := c.Start(); err != nil {
			panic(err)
		}
	}
	panic(cluster.Act(journals, true))
}

// A runCluster has three agents, each with a runner of the actor.
type runCluster struct {
	*cluster.Cluster
	t     testing.TB
	token uint64          // the highest that was seen
	lost  map[uint64]bool // tokens whose leases were not renewed
}

// runGuard is how long before the end of its lease a program is killed. It is long beside an election and beside the pauses of a busy
// host, so that the one is not taken for the other; runConfig leaves room for it.
const (
	runGuard  = 1500 * time.Millisecond
	runConfig = "timing:\n  lease: 3s\n  longest_lease: 3s\n"
)

// startRunCluster starts three agents and their runners.
func startRunCluster(t *testing.T) *runCluster {
	t.Helper()
	h := &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: []string{"a", "b", "c"}, Relay: true, Config: runConfig, Regent: command,
	})}
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	for _, name := range h.Names {
		h.startRunner(name)
	}
	return h
}

// command makes a command of the command line.
func command(args ...string) *exec.Cmd {
	c := exec.Command("regent", args...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return c
}

func (h *runCluster) check(errs ...error) {
	h.t.Helper()
	for _, err := range errs {
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// regent runs the command line to its end.
func (h *runCluster) regent(args ...string) error {
	if out, err := command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

func (h *runCluster) startAgent(name string) {
	h.t.Helper()
	_, err := h.StartAgent(name)
	h.check(err)
}

func (h *runCluster) startRunner(name string) {
	h.t.Helper()
	program, err := exec.LookPath("actor")
	h.check(err)
	_, err = h.Run(runnerOf(name), name, "g", []string{"--restart", "--delay", "10ms", "--grace", "200ms", "--guard", runGuard.String()}, program, h.JournalDir())
	h.check(err)
}

// runnerOf names the runner of a host.
func runnerOf(host string) string { return "run-" + host }

// spans returns what the processes of one leadership wrote, or of all for token 0.
func (h *runCluster) spans(token uint64) []cluster.Span {
	h.t.Helper()
	all, err := h.Spans()
	h.check(err)
	return slices.DeleteFunc(all, func(s cluster.Span) bool { return token != 0 && s.Token != token })
}

// next waits for a program that leads with a higher token than any before, and its daemon, and returns the program.
func (h *runCluster) next() cluster.Span {
	h.t.Helper()
	var found cluster.Span
	cluster.Eventually(h.t, "another program leads", func() bool {
		for _, daemon := range h.spans(0) {
			parent := parentOf(daemon.Pid)
			for _, s := range h.spans(daemon.Token) {
				if s.Token > h.token && s.Pid == parent && h.Alive(s) {
					found = s
					return true
				}
			}
		}
		return false
	})
	h.token = found.Token
	return found
}

// parentOf returns the parent of a process; zero if there is no such process.
func parentOf(pid int) (parent int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	var state string
	_, _ = fmt.Sscan(rest, &state, &parent)
	return parent
}

// alive returns a process of a leadership that is left, or of any for token 0.
func (h *runCluster) alive(token uint64) (cluster.Span, bool) {
	h.t.Helper()
	all := h.spans(token)
	if i := slices.IndexFunc(all, h.Alive); i >= 0 {
		return all[i], true
	}
	return cluster.Span{}, false
}

// gone waits until no process of a leadership is left.
func (h *runCluster) gone(token uint64) {
	h.t.Helper()
	cluster.Eventually(h.t, fmt.Sprintf("no process with token %d is left", token), func() bool {
		_, left := h.alive(token)
		return !left
	})
}

// judge fails the test if two leaderships overlap, by the journals of the leading programs, daemons included.
func (h *runCluster) judge() {
	h.t.Helper()
	all := h.Judge(h.t, 1, cluster.Rules{}).Spans
	for i := 1; i < len(all); i++ {
		x, y := all[i-1], all[i]
		// No other is elected before the lease is over, and the program was killed a guard time before. Half of that is left for a
		// busy host to do so.
		if gap := y.Since.Sub(x.Seen); h.lost[x.Token] && gap < runGuard/2 {
			h.t.Errorf("%v acted until %v before %v began: want more than %v", x, gap, y, runGuard/2)
		}
	}
	h.t.Logf("%d leaderships, none overlaps another", len(all))
}

// Whatever is killed, stopped or cut off: programs never lead at the same time, and nothing of them is left behind.
func TestProgramsNeverLeadAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	resign := func(e cluster.Span) { _ = h.regent("resign", "g", "--socket", h.Socket(e.Holder)) }
	for _, scenario := range []struct {
		name string
		do   func(e cluster.Span)
		undo func(e cluster.Span)
		lost bool
	}{
		{"the program is killed", func(e cluster.Span) { _ = syscall.Kill(e.Pid, syscall.SIGKILL) }, nil, false},
		{"the runner is killed", func(e cluster.Span) { h.check(h.Crash(runnerOf(e.Holder))) },
			func(e cluster.Span) { h.startRunner(e.Holder) }, false},
		{"the host is cut off", func(e cluster.Span) { h.check(h.Cut(e.Holder)) }, func(e cluster.Span) { h.check(h.Heal(e.Holder)) }, true},
		{"the runner is stopped and the host cut off", func(e cluster.Span) { h.check(h.Pause(runnerOf(e.Holder)), h.Cut(e.Holder)) },
			func(e cluster.Span) { h.gone(e.Token); h.check(h.Heal(e.Holder), h.Resume(runnerOf(e.Holder))) }, true},
		{"the runner is stopped and the group given up", func(e cluster.Span) {
			h.check(h.Pause(runnerOf(e.Holder)))
			resign(e) // the runner cannot report that it has stopped: the agent kills, and gives up what ran out
		}, func(e cluster.Span) { h.gone(e.Token); h.check(h.Resume(runnerOf(e.Holder))) }, false},
		{"the agent is killed", func(e cluster.Span) { h.check(h.Crash(e.Holder)) }, func(e cluster.Span) { h.startAgent(e.Holder) }, true},
		{"the agent is stopped", func(e cluster.Span) { h.check(h.Pause(e.Holder)) }, func(e cluster.Span) { h.check(h.Resume(e.Holder)) }, true},
		{"the group is given up under a program that does not stop", resign, nil, false},
	} {
		e := h.next()
		t.Logf("%s leads with token %d: %s", e.Holder, e.Token, scenario.name)
		h.lost[e.Token] = scenario.lost
		scenario.do(e)
		after := h.next()
		h.gone(e.Token)
		if scenario.undo != nil {
			scenario.undo(e)
		}
		h.token = after.Token - 1 // it is the next to suffer
	}
	h.next()
	for _, name := range h.Names {
		h.Finish(h.t, runnerOf(name))
	}
	h.judge()
	if s, left := h.alive(0); left {
		t.Errorf("process %d of token %d was left behind", s.Pid, s.Token)
	}
	for _, name := range h.Names {
		h.Finish(h.t, name)
	}
}
