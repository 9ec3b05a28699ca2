package cluster

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate keeps a process from the signals of the terminal, and makes it die with its cluster.
func isolate(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = new(syscall.SysProcAttr)
	}
	c.SysProcAttr.Setpgid, c.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// detach keeps a process from the signals of the terminal.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func suspend(p *os.Process, pause bool) error {
	if pause {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}

// exists says whether a process of that number exists.
func exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
