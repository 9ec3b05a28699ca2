package cluster

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate keeps a member from the signals of the terminal, and makes it die with its cluster.
func isolate(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func suspend(p *os.Process, pause bool) error {
	if pause {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
