package run

import (
	"os/exec"
	"syscall"
)

// bind has the kernel kill a helper when this process dies. [detach] comes first.
func bind(c *exec.Cmd) { c.SysProcAttr.Pdeathsig = syscall.SIGKILL }
