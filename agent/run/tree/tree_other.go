//go:build unix && !linux

package tree

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A Reaper starts the children of a runner.
type Reaper struct{}

// ProcessReaper returns a reaper. On this system nobody adopts orphans.
func ProcessReaper() (*Reaper, error) { return &Reaper{}, nil }

// Start starts a command.
func (r *Reaper) Start(c *exec.Cmd) error { return c.Start() }

// Wait waits for a command.
func (r *Reaper) Wait(c *exec.Cmd) error { return c.Wait() }

// A Tree is a program that this process starts, and its process group.
type Tree struct {
	Ref
	cmd    *exec.Cmd
	exited chan struct{}
}

// Prepare prepares a tree.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) {
	mark := make([]byte, 8)
	_, _ = rand.Read(mark)
	return &Tree{Ref: Ref{Mark: hex.EncodeToString(mark), Runner: os.Getpid()}, exited: make(chan struct{})},
		errors.New("this system has no cgroups"), nil
}

// Start starts the first process.
func (t *Tree) Start(o Options) error {
	t.cmd = &exec.Cmd{Path: o.Path, Args: o.Args, Env: environ(o.Env, t.Mark), Dir: o.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = o.Files[0], o.Files[1], o.Files[2]
	t.cmd.ExtraFiles = o.Extra
	if err := t.cmd.Start(); err != nil {
		return err
	}
	t.First = t.cmd.Process.Pid
	go func() {
		_ = t.cmd.Wait()
		close(t.exited)
	}()
	return nil
}

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
func (t *Tree) Forward(sig os.Signal) error { return t.Signal(sig.(syscall.Signal)) }

// Signal sends a signal to the process group. That it is gone is no error.
func (r *Ref) Signal(sig syscall.Signal) error {
	if r.First == 0 {
		return nil
	}
	if err := syscall.Kill(-r.First, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Processes returns the first process if its group is not empty.
func (r *Ref) Processes() ([]Process, error) {
	if r.First == 0 || errors.Is(syscall.Kill(-r.First, 0), syscall.ESRCH) {
		return nil, nil
	}
	return []Process{{Pid: r.First}}, nil
}

func (r *Ref) kill() ([]Process, error) {
	if err := r.Signal(syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("kill process group %d: %w", r.First, err)
	}
	return r.Processes()
}

// gone: nothing can be seen at a glance here.
func (r *Ref) gone() bool { return false }

func (r *Ref) clear() {}

// Orphaned says that the runner is dead. It may be another process by now that has its number.
func (r *Ref) Orphaned() bool { return errors.Is(syscall.Kill(r.Runner, 0), syscall.ESRCH) }

// MayKill says why this process could not kill the tree.
func (r *Ref) MayKill() error {
	if err := syscall.Kill(r.Runner, 0); err != nil {
		return fmt.Errorf("signal the runner, process %d: %w", r.Runner, err)
	}
	return nil
}

// Verify returns what of a reference can be believed that another process handed over.
func (r Ref) Verify(asker int) (Ref, error) {
	if r.Runner != asker {
		return Ref{}, fmt.Errorf("runner %d: is not the process that asks, %d", r.Runner, asker)
	}
	return Ref{Mark: r.Mark, Runner: asker}, nil
}
