package tree

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Tree is a program that this process starts, and all that the program starts.
type Tree struct {
	Ref
	reaper *Reaper
	cmd    *exec.Cmd
	exited chan struct{}
}

// Prepare prepares a tree: its mark and its cgroup. Whoever else is to kill it can be told now, before anything runs.
// Without a cgroup it says why.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) {
	self, err := readStat(os.Getpid())
	if err != nil {
		return nil, nil, fmt.Errorf("look at this process: %w", err)
	}
	mark := make([]byte, 8)
	_, _ = rand.Read(mark)
	t = &Tree{reaper: r, exited: make(chan struct{}),
		Ref: Ref{Mark: hex.EncodeToString(mark), Runner: self.pid, RunnerStarted: self.started}}
	t.Cgroup, noCgroup = newCgroup(t.Mark)
	return t, noCgroup, nil
}

// Start starts the first process. The error is that of exec.
func (t *Tree) Start(o Options) error {
	t.cmd = &exec.Cmd{Path: o.Path, Args: o.Args, Env: environ(o.Env, t.Mark), Dir: o.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = o.Files[0], o.Files[1], o.Files[2]
	t.cmd.ExtraFiles = o.Extra
	if t.Cgroup != "" {
		dir, err := os.Open(t.Cgroup)
		if err != nil {
			return err
		}
		defer dir.Close()
		t.cmd.SysProcAttr.UseCgroupFD, t.cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	if err := t.reaper.Start(t.cmd); err != nil {
		t.clear()
		return err
	}
	t.First = t.cmd.Process.Pid
	// It is there, dead or alive, until it is waited for.
	s, err := readStat(t.First)
	if err != nil {
		return fmt.Errorf("look at process %d: %w", t.First, err)
	}
	t.FirstStarted = s.started
	go func() {
		_ = t.reaper.Wait(t.cmd)
		close(t.exited)
	}()
	return nil
}

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
	if t.First == 0 {
		return nil
	}
	select {
	case <-t.exited:
		// Its number may be another's by now; whoever is left of its group is found one by one.
		return t.Signal(number)
	default:
	}
	return unix.Kill(-t.First, number)
}
