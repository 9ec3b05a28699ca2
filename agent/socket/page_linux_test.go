package socket

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/session"
	"golang.org/x/sys/unix"
)

// Programs that have other clocks than the agent get no page: its instants would mislead them.
func TestPageIsForThoseWithTheSameClocks(t *testing.T) {
	c := &conn{agent: idleSessions(t)}
	if err := c.mayMap(); err == nil {
		t.Error("an unknown process gets the page")
	}
	for name, other := range map[string]uintptr{"its own clocks": unix.CLONE_NEWTIME, "the clocks of the host": 0} {
		p := exec.Command("sleep", "60")
		p.SysProcAttr = &syscall.SysProcAttr{Unshareflags: other, Pdeathsig: syscall.SIGKILL}
		if err := p.Start(); err != nil {
			if other != 0 && os.Geteuid() != 0 {
				continue // only root may make such a process
			}
			t.Fatal(err)
		}
		defer func() { _ = p.Wait() }()
		defer func() { _ = p.Process.Kill() }()
		var err error
		c.peer, err = processes.OpenPeer(p.Process.Pid, os.Geteuid())
		if err != nil {
			t.Fatal(err)
		}
		defer c.peer.Close()
		if err := c.mayMap(); (err != nil) != (other != 0) || err != nil && !strings.Contains(err.Error(), "time namespace") {
			t.Errorf("a process with %s: %v", name, err)
		}
		c.mapped.Store(true) // while it had the clocks of the host
		if reads, err := c.readsPage(&session.Request{Page: true}); reads != (other == 0) || (err == nil) != reads {
			t.Errorf("a process with %s that has the page reads it: %t, %v", name, reads, err)
		}
	}
}
