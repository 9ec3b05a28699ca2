package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Processes returns who belongs to the tree and is alive.
func (r *Ref) Processes() ([]Process, error) {
	all, err := readAll()
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	var in map[int]bool
	if r.Cgroup != "" {
		if in, err = cgroupProcs(r.Cgroup); err != nil {
			return nil, err
		}
	}
	return r.pick(all, in, readEnviron), nil
}

// pick chooses those that belong to the tree: by a sign of their own, or because their parent does.
func (r *Ref) pick(all []stat, cgroup map[int]bool, env func(int) string) []Process {
	byPid := make(map[int]stat, len(all))
	for _, s := range all {
		byPid[s.pid] = s
	}
	runner := byPid[r.Runner]
	runnerThere := runner.pid != 0 && runner.started == r.RunnerStarted
	// A session keeps its number from being given to another process, but it may have ended, and a stranger have begun
	// one with the same number.
	first, there := byPid[r.First]
	session := r.First != 0 && (!there || first.started == r.FirstStarted)
	verdict := map[int]bool{0: false, 1: false, os.Getpid(): false}
	if runnerThere {
		verdict[r.Runner] = false
	}
	var belongs func(s stat, depth int) bool
	belongs = func(s stat, depth int) bool {
		if v, ok := verdict[s.pid]; ok || depth == 0 {
			return v
		}
		if s.started < r.RunnerStarted { // its runner was not there yet: there is no need to read its environment
			return false
		}
		environ := env(s.pid)
		v := cgroup[s.pid] || marked(environ, r.Mark) || session && s.session == r.First
		switch parent, ok := byPid[s.parent]; {
		case v || !ok:
		case runnerThere && s.parent == r.Runner:
			v = !strings.Contains("\x00"+environ, "\x00"+helper+"=")
		default:
			v = belongs(parent, depth-1)
		}
		verdict[s.pid] = v
		return v
	}
	var out []Process
	for _, s := range all {
		if !s.dead && belongs(s, len(all)) {
			out = append(out, Process{Pid: s.pid, Started: s.started})
		}
	}
	slices.SortFunc(out, func(p, q Process) int { return p.Pid - q.Pid })
	return out
}

// gone says that nobody is left of the tree of this process, if that can be seen at a glance: this process has no children,
// and whoever loses its parent becomes one. Who entered another pid namespace escapes that, but not the cgroup.
func (r *Ref) gone() bool {
	if r.Runner != os.Getpid() || !adopting.Load() || !childless() {
		return false
	}
	return r.Cgroup == "" || cgroupEmpty(r.Cgroup)
}

// childless says that this process has no children at all, dead ones included. The kernel looks at all of them at once.
func childless() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return errors.Is(err, unix.ECHILD)
		}
	}
}

// kill kills whoever is in the tree now, and returns who was.
func (r *Ref) kill() ([]Process, error) {
	if r.Cgroup != "" {
		if err := cgroupKill(r.Cgroup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	left, err := r.Processes()
	if err != nil {
		return nil, err
	}
	for _, p := range left {
		if err := p.signal(unix.SIGKILL); err != nil {
			return left, fmt.Errorf("kill process %d: %w", p.Pid, err)
		}
	}
	return left, nil
}

// Signal sends a signal to all processes of the tree, in no particular order.
func (r *Ref) Signal(sig unix.Signal) error {
	all, err := r.Processes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := p.signal(sig); err != nil {
			return fmt.Errorf("signal process %d: %w", p.Pid, err)
		}
	}
	return nil
}

// signal sends a signal to this very process, and not to a later one of the same number. That it is gone is no error.
func (p Process) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) { // EINVAL: it is a thread by now
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// What the descriptor stands for is fixed now. If it is who was meant, it remains so.
	if s, err := readStat(p.Pid); errors.Is(err, fs.ErrNotExist) || err == nil && s.started != p.Started {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// clear removes what a tree that has ended leaves behind.
func (r *Ref) clear() {
	if r.Cgroup != "" {
		cgroupRemove(r.Cgroup)
	}
}

// Orphaned says that the runner is dead.
func (r *Ref) Orphaned() bool {
	s, err := readStat(r.Runner)
	return errors.Is(err, fs.ErrNotExist) || err == nil && s.started != r.RunnerStarted
}

// MayKill says why this process could not kill the tree: because it may not look at or signal processes of the runner's
// user. It is for whoever is told of a tree.
func (r *Ref) MayKill() error {
	s, err := readStat(r.Runner)
	if err != nil || s.started != r.RunnerStarted {
		return fmt.Errorf("the runner, process %d, is not there", r.Runner)
	}
	if err := unix.Kill(r.Runner, 0); err != nil {
		return fmt.Errorf("signal the runner, process %d: %w", r.Runner, err)
	}
	if r.Cgroup != "" {
		if err := unix.Access(r.Cgroup+"/cgroup.kill", unix.W_OK); err == nil {
			return nil
		}
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.Runner)); err != nil {
		return fmt.Errorf("look at the runner: %w", err)
	}
	return nil
}
