package cluster

import (
	"io"
	"os/exec"
)

// A janitor is a process that removes a directory when this one has ended without doing so: it panicked, or was killed.
type janitor struct {
	cmd *exec.Cmd
	in  io.Closer
}

// sweep waits for the end of its input, which ends with this process, and for the children of this process to die.
const sweep = `cat >/dev/null; sleep 1; rm -rf -- "$0"`

// newJanitor starts one; nil where the system has no shell.
func newJanitor(dir string) *janitor {
	c := exec.Command("sh", "-c", sweep, dir)
	detach(c)
	in, err := c.StdinPipe()
	if err != nil || c.Start() != nil {
		return nil
	}
	return &janitor{c, in}
}

// dismiss ends the janitor: the directory is removed by others.
func (j *janitor) dismiss() {
	if j != nil {
		_ = j.cmd.Process.Kill()
		_ = j.in.Close() // cat, which the shell has started, ends with it
		_ = j.cmd.Wait()
	}
}
