//go:build unix

package run

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// detach gives a helper a process group of its own.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Signals are those that a runner passes on to its program, or ends by.
func Signals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
}

// liveOn keeps this process alive when nobody reads its standard error any more. The signal is caught and not ignored, as children
// inherit what is ignored.
func liveOn() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
