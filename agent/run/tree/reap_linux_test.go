package tree

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Once a helper is reaped its number may be that of another process group.
func TestGroupOfAHelperIsKilledWhileItsNumberIsItsOwn(t *testing.T) {
	n := mustReap(t)
	first := exec.Command("sleep", "1000")
	first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.Start(first); err != nil {
		t.Fatal(err)
	}
	n.KillGroup(first)
	if err := n.Wait(first); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the helper ended with %v, want it to be killed", err)
	}
	if n.unreaped[first.Process.Pid] {
		t.Error("a helper that was reaped has its number still")
	}
	next := exec.Command("sleep", "1000") // has a number of its own, which the kernel could have given it again
	next.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n.mu.Lock() // it is not taken for an adopted one
	defer n.mu.Unlock()
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	first.Process.Pid = next.Process.Pid
	n.KillGroup(first)
	if err := next.Process.Signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := next.Wait(); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("a process with the number of a helper that was reaped ended with %v", err)
	}
}
