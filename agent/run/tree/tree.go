// Package tree starts a program so that everything it starts can be found again and killed: by the process that started
// it, and by another one that was only told of it.
//
//	tree.go           what a tree is, and its end
//	start_linux.go    starting the first process
//	reap_linux.go     children that outlived their parents
//	find_linux.go     who belongs to a tree
//	verify_linux.go   what to believe of a tree that one is told of
//	proc_linux.go     reading /proc
//	cgroup_linux.go   a cgroup for each tree, where that is possible
//	tree_other.go     other systems: process groups, and no more
//
// # Who belongs to a tree
//
// On Linux a tree is found by four signs, any of which is enough. A process belongs to it that is in its cgroup; that
// has its mark in the environment variable REGENT_RUN; that is in the session of the first process; or that is a child of
// the runner and no helper of it, for the runner is a subreaper: whoever loses its parent becomes its child. So do the
// children of all these.
//
// With a cgroup nobody escapes who may not write to cgroups. Without one a process does that changes its session, clears
// its environment and loses its parent, and that only once the runner is dead as well.
//
// # What kills it
//
// The first process is killed by the kernel when its runner dies (PR_SET_PDEATHSIG). End kills the whole tree, by
// cgroup.kill where there is one and through a pidfd for each process otherwise, so that no number that was given to
// another process in the meantime is hit. It looks again until nobody is left, twice in a row: a walk through /proc is no
// snapshot, and a child may be born behind it.
//
// The runner itself need not walk: it adopts whoever is left, so without children, and with an empty cgroup, it has no tree.
// That takes microseconds, and after an orderly stop nobody waits longer for the next leader than that.
//
// A process that cannot be killed because it waits for a device is not gone. End waits for it.
package tree

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Mark is the environment variable by which the processes of a tree are known. Its value is a list, separated by commas,
// for a tree may be part of another.
const Mark = "REGENT_RUN"

// helper is the environment variable by which children of a runner are known that are not part of its tree.
const helper = "REGENT_HELPER"

// A Ref says how to find the processes of a tree. It may be handed to another process of the host. Without the first
// process it is good for finding whatever else is known, so it can be handed on before there is one.
type Ref struct {
	// Mark is in the environment of all of them. It is random.
	Mark string `json:"mark"`
	// Runner is the process that starts the first one and adopts orphans, and RunnerStarted when it was started, in
	// ticks since boot: a number may be used again, but not with this as well.
	Runner        int    `json:"runner"`
	RunnerStarted uint64 `json:"runnerStarted"`
	// First is the first process, the leader of a session, and FirstStarted when it was started. Zero: not known.
	First        int    `json:"first,omitempty"`
	FirstStarted uint64 `json:"firstStarted,omitempty"`
	// Cgroup is the directory of the tree's cgroup, empty if it has none.
	Cgroup string `json:"cgroup,omitempty"`
}

// A Process is one process of a tree.
type Process struct {
	Pid     int
	Started uint64
}

// The pauses between two looks at a tree that does not end.
const (
	firstPause   = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
)

// End kills the tree and returns when nobody is left. If ctx ends before, the error says who is.
func (r *Ref) End(ctx context.Context) error {
	pause := firstPause
	for empty := 0; ; {
		if r.gone() {
			r.clear()
			return nil
		}
		left, err := r.kill()
		switch {
		case err != nil:
			empty = 0
		case len(left) == 0:
			empty++
			if empty == 2 {
				r.clear()
				return nil
			}
			continue
		default:
			empty = 0
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return r.remain(left, err)
		}
	}
}

// Forget removes what was prepared for a tree that was never started. It kills nobody.
func (r *Ref) Forget() { r.clear() }

// remain says that a tree has not ended.
func (r *Ref) remain(left []Process, err error) error {
	if err != nil {
		return fmt.Errorf("kill the processes marked %s: %w", r.Mark, err)
	}
	pids := make([]string, len(left))
	for i, p := range left {
		pids[i] = fmt.Sprint(p.Pid)
	}
	return fmt.Errorf("kill the processes marked %s: still there: %s", r.Mark, strings.Join(pids, ", "))
}

// signalStatus is what shells add to the number of a signal that killed a program.
const signalStatus = 128

// Options is how to start a tree.
type Options struct {
	// Path is the program and Args its arguments, the first of which is its name. No shell is involved.
	Path string
	Args []string
	// Env is the environment, and Dir the working directory; empty is that of the runner.
	Env []string
	Dir string
	// Files are standard input, output and error.
	Files []*os.File
	// Extra are further files, from descriptor 3 on.
	Extra []*os.File
}

// environ returns an environment in which the mark was added to the ones that are there.
func environ(env []string, mark string) []string {
	out := make([]string, 0, len(env)+1)
	marks := mark
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case helper:
		case Mark:
			marks = value + "," + mark
		default:
			out = append(out, e)
		}
	}
	return append(out, Mark+"="+marks)
}

// marked says whether an environment, as /proc shows it, bears the mark.
func marked(env, mark string) bool {
	for e := range strings.SplitSeq(env, "\x00") {
		if list, ok := strings.CutPrefix(e, Mark+"="); ok && slices.Contains(strings.Split(list, ","), mark) {
			return true
		}
	}
	return false
}

// Helper returns an environment that keeps a child of a runner from being taken for a part of its tree.
func Helper(env []string) []string { return append(slices.Clone(env), helper+"=1") }
