//go:build unix && !linux

package tree

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/regentproject/regent/internal/tenure"
)

// A Reaper starts the children of a runner.
type Reaper struct{}

// ProcessReaper returns a reaper. On this system nobody adopts orphans.
func ProcessReaper() (*Reaper, error) { return &Reaper{}, nil }

// Start starts a command.
func (r *Reaper) Start(c *exec.Cmd) error { return c.Start() }

// Wait waits for a command.
func (r *Reaper) Wait(c *exec.Cmd) error { return c.Wait() }

// KillGroup kills the process group of a command. On this system its number may be another's if Wait has returned.
func (r *Reaper) KillGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// A Tree is a program that this process starts, and its process group.
type Tree struct {
	ref    Ref
	path   string
	gate   *gate
	cmd    *exec.Cmd
	exited chan struct{}
}

// Prepare prepares a tree.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) {
	mark := make([]byte, markBytes)
	_, _ = rand.Read(mark)
	self := tenure.Ref{Runner: tenure.Identity{Pid: os.Getpid()}, UID: os.Geteuid()}
	return &Tree{ref: Ref{Ref: self, Mark: hex.EncodeToString(mark)}, exited: make(chan struct{})}, errors.New("this system has no cgroups"), nil
}

// Hold does nothing: addresses do not move on this system.
func (t *Tree) Hold([]string) {}

// Ref returns how to find the tree.
func (t *Tree) Ref() Ref { return t.ref }

// Start forks the first process, which waits at the gate until Exec.
func (t *Tree) Start(o Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, files, err := newGate()
	if err != nil {
		return err
	}
	t.path, t.gate = o.Path, g
	t.cmd = &exec.Cmd{Path: self, Args: append([]string{gateName, o.Path}, o.Args...), Env: environ(o.Env, t.ref.Mark), Dir: o.Dir,
		ExtraFiles: files, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = o.Files[0], o.Files[1], o.Files[2]
	err = t.cmd.Start()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		g.close()
		return err
	}
	t.ref.First.Pid = t.cmd.Process.Pid
	go func() {
		_ = t.cmd.Wait()
		close(t.exited)
	}()
	return nil
}

// StartBeside starts a command that acts for the leader beside the program. On this system its starter has to end it.
func (t *Tree) StartBeside(c *exec.Cmd) error { return c.Start() }

// Exec opens the gate, and returns the error of exec.
func (t *Tree) Exec() error { return t.gate.pass(t.path) }

// Abort ends the first process before it becomes the program.
func (t *Tree) Abort() {
	if t.cmd == nil || t.cmd.Process == nil {
		return
	}
	t.gate.close()
	_ = t.cmd.Process.Kill()
}

// End kills the process group.
func (t *Tree) End(ctx context.Context) Result { return t.ref.End(ctx) }

// Forget has nothing to remove.
func (t *Tree) Forget() {}

// Exited is closed when the first process has ended. Others of the tree may live on.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Status returns the exit status of the first process as shells have it, once it has ended.
func (t *Tree) Status() int {
	if w, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalStatus + int(w.Signal())
	}
	return t.cmd.ProcessState.ExitCode()
}

// Forward passes a signal on to the process group of the first process.
func (t *Tree) Forward(sig os.Signal) error { return t.ref.Signal(sig.(syscall.Signal)) }

// Signal sends a signal to the process group. That it is gone is no error.
func (r *Ref) Signal(sig syscall.Signal) error {
	if r.First.Pid == 0 {
		return nil
	}
	if err := syscall.Kill(-r.First.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Look returns the first process if its group is not empty. That the group is empty proves nothing here, but it is all
// there is to know: it counts as a runner that adopts.
func (r *Ref) Look() Result {
	out := Result{Search: tenure.Search{Adopter: true}}
	if r.First.Pid != 0 && !errors.Is(syscall.Kill(-r.First.Pid, 0), syscall.ESRCH) {
		out.Left = []Process{{Identity: r.First, UID: r.UID}}
		out.Search.Left = 1
	}
	return out
}

func (r *Ref) killer() killer {
	return killer{strike: func() (Result, bool) { return Result{}, false }, walk: r.kill}
}

func (r *Ref) kill() Result {
	if err := r.Signal(syscall.SIGKILL); err != nil {
		return Result{Err: fmt.Errorf("kill process group %d: %w", r.First.Pid, err)}
	}
	return r.Look()
}

// See has nothing to take note of.
func (r *Ref) See() {}

func (r *Ref) clear() {}

// Orphaned says that the runner is dead. It may be another process by now that has its number.
func (r *Ref) Orphaned() bool { return errors.Is(syscall.Kill(r.Runner.Pid, 0), syscall.ESRCH) }

// MayKill says why this process could not kill the tree.
func (r *Ref) MayKill() error {
	if err := syscall.Kill(r.Runner.Pid, 0); err != nil {
		return fmt.Errorf("signal the runner, process %d: %w", r.Runner.Pid, err)
	}
	return nil
}

// Verify returns what of a claim can be believed.
func (c Claim) Verify(runner tenure.Identity, uid int) (Ref, error) {
	if c.Runner != runner.Pid {
		return Ref{}, fmt.Errorf("runner %d: is not the process that asks, %d", c.Runner, runner.Pid)
	}
	return Ref{Ref: tenure.Ref{Runner: runner, UID: uid}, Mark: c.Mark}, nil
}

// IsChild says whether a process is a child of another one, which is not known here.
func IsChild(child, parent tenure.Identity) bool { return false }

// Learn takes note of the first process.
func (r *Ref) Learn(first int) error {
	r.First.Pid = first
	return nil
}
