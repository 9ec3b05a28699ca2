package tree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

// A Tree is a program that this process starts, and all that the program starts.
type Tree struct {
	reaper *Reaper
	cmd    *exec.Cmd
	path   string
	gate   *gate
	exited chan struct{}

	mu  sync.Mutex
	ref Ref
	// reaped says that the first process is dead, and its number may be another's.
	reaped bool
}

// Prepare prepares a tree: its mark and its cgroup. Another process that is to kill it can learn of it now, before anything runs.
// Without a cgroup it says why.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) {
	self, err := readStat(os.Getpid())
	if err != nil {
		return nil, nil, fmt.Errorf("look at this process: %w", err)
	}
	t = &Tree{reaper: r, exited: make(chan struct{}),
		ref: Ref{Ref: tenure.Ref{Runner: self.identity(), UID: os.Geteuid()}, Mark: random(markBytes)}}
	t.ref.Cgroup, noCgroup = newCgroup()
	return t, noCgroup, nil
}

// Hold takes note of the addresses that the first process will add to interfaces. It comes before anybody learns of the tree.
func (t *Tree) Hold(addresses []string) { t.ref.Addresses = addresses }

// Ref returns how to find the tree, with all that is known by now.
func (t *Tree) Ref() Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		t.ref.See()
	}
	return t.ref
}

// Start forks the first process, which waits at the gate until Exec, and ends if this process does before that. It is in the tree's
// cgroup and leads a session already.
func (t *Tree) Start(o Options) error {
	g, files, err := newGate()
	if err != nil {
		return err
	}
	pidfd := -1
	t.path, t.gate = o.Path, g
	t.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{gateName, o.Path}, o.Args...), Env: environ(o.Env, t.ref.Mark), Dir: o.Dir,
		ExtraFiles: files, SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd}}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = o.Files[0], o.Files[1], o.Files[2]
	err = t.fork(t.cmd)
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		g.close()
		t.Forget()
		return err
	}
	// It is there, dead or alive, until it is waited for.
	s, err := readStat(t.cmd.Process.Pid)
	t.mu.Lock()
	t.ref.First = s.identity()
	if pidfd >= 0 {
		t.ref.first = os.NewFile(uintptr(pidfd), "pidfd")
	}
	t.mu.Unlock()
	go t.await()
	if err != nil {
		t.Abort()
		return fmt.Errorf("look at process %d: %w", t.cmd.Process.Pid, err)
	}
	return nil
}

// fork forks a process, into the cgroup if there is one.
func (t *Tree) fork(c *exec.Cmd) error {
	if t.ref.Cgroup != "" {
		dir, err := os.Open(t.ref.Cgroup)
		if err != nil {
			return err
		}
		defer dir.Close()
		c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	return t.reaper.start(c, false)
}

// StartBeside starts a command that acts for the leader beside the program, such as an elected hook, as a part of the tree: to end
// the tree is to end it, and all that it started. The caller waits for it, by [Reaper.Wait].
func (t *Tree) StartBeside(c *exec.Cmd) error {
	c.Env = environ(c.Env, t.ref.Mark)
	return t.fork(c)
}

// await takes note of the death of the first process. Until it is reaped its number is its own, and so is its session's.
func (t *Tree) await() {
	awaitDeath(t.cmd.Process.Pid)
	t.mu.Lock()
	t.ref.See()
	t.reaped = true
	t.mu.Unlock()
	_ = t.reaper.Wait(t.cmd)
	close(t.exited)
}

// Exec opens the gate, so that the first process becomes the program. It returns the error of exec. A process that ended before is no
// error: Exited is closed.
func (t *Tree) Exec() error { return t.gate.pass(t.path) }

// Abort ends the first process before it becomes the program.
func (t *Tree) Abort() {
	if t.cmd == nil || t.cmd.Process == nil {
		return
	}
	t.gate.close()
	_ = t.cmd.Process.Kill()
}

// End kills the tree: see [Ref.End]. It looks at the children of this process first, and need not walk if there are none: after
// an orderly stop nobody waits longer for the next leader than that.
func (t *Tree) End(ctx context.Context) Result {
	var r Ref
	var failure error
	return end(ctx, killer{
		strike: func() (Result, bool) {
			r = t.Ref()
			if t.gone(&r) {
				glance := Result{Search: tenure.Search{Cgroup: r.state(), Adopter: true}}
				r.drop(&glance)
				return glance, glance.Search.Held == 0
			}
			failure = r.strike()
			_, _ = address.Drop(r.Addresses, r.Succeeded) // at once, for a walk takes its time; the walk does it again, and counts
			return Result{}, false
		},
		walk: func() Result {
			found := r.search(&walk{strike: true, own: t.reaper.listed})
			found.Search.Adopter = adopting.Load()
			found.struck(failure)
			r.drop(&found)
			return found
		},
	})
}

// state says what is in the cgroup.
func (r *Ref) state() tenure.Cgroup {
	if r.Cgroup == "" {
		return tenure.NoCgroup
	}
	return cgroupState(r.Cgroup)
}

// gone says that nobody is left of the tree, if that can be seen at a glance: this process has no children but helpers, and
// it adopts every process that loses its parent. Who entered another pid namespace escapes that, but not the cgroup.
func (t *Tree) gone(r *Ref) bool {
	if !adopting.Load() || r.Cgroup != "" && r.state() != tenure.Empty {
		return false
	}
	children, known, ok := t.reaper.listed()
	for _, pid := range children {
		ok = ok && known[pid]
	}
	return ok
}

// Forget removes what was prepared. It kills nobody.
func (t *Tree) Forget() { t.ref.clear() }

// Exited is closed when the first process has ended. Others of the tree may live on.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Status returns the exit status of the first process as shells have it, once it has ended: 128 and the number of the
// signal if one killed it.
func (t *Tree) Status() int {
	w, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && w.Signaled() {
		return signalStatus + int(w.Signal())
	}
	return t.cmd.ProcessState.ExitCode()
}

// Forward passes a signal on to the process group of the first process.
func (t *Tree) Forward(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v: not one of this system", sig)
	}
	if t.forwardToGroup(number) {
		return nil
	}
	// Its number may be another's by now; what is left of its group is found one by one.
	r := t.Ref()
	return r.Signal(number)
}

// forwardToGroup signals the group by its number, which is its own until the first process is reaped.
func (t *Tree) forwardToGroup(sig syscall.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ref.First.Pid == 0 || !t.reaped && unix.Kill(-t.ref.First.Pid, sig) == nil
}
