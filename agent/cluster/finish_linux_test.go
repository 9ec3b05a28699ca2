package cluster

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A program that writes a journal is found and killed though its parent is gone, and though it ignores SIGTERM.
func TestCrashAllEndsWhatOutlivedItsParent(t *testing.T) {
	c := Open(t, Options{Names: []string{"a"}})
	leave := exec.Command("sh", append([]string{"-c", `REGENT_TOKEN=7 REGENT_MEMBER=a REGENT_GROUP=g "$@" & exit 0`, "sh"}, c.Acting(true)...)...)
	p, err := c.Spawn("parent", "a", leave, nil)
	if err != nil {
		t.Fatal(err)
	}
	var orphan Span
	Eventually(t, "the orphan writes a journal", func() bool {
		orphan, err = c.LastSpan("a", "g")
		return err == nil
	})
	if orphan.Pid == p.Pid() || !c.Alive(orphan) {
		t.Fatalf("process %d of the journal does not live", orphan.Pid)
	}
	if err := c.CrashAll(); err != nil {
		t.Fatal(err)
	}
	if c.Alive(orphan) || !p.Ended() {
		t.Error("a process is left")
	}
}

// A child that is stopped holds the output of its parent open. Killing the parent does not wait for that.
func TestKilledProcessWithAStoppedChildIsGone(t *testing.T) {
	c := Open(t, Options{Names: []string{"a"}})
	child := make(chan int, 1)
	p, err := c.Spawn("parent", "a", exec.Command("sh", "-c", `sleep 600 & kill -STOP $!; echo $!; wait`), func(line string) {
		pid, _ := strconv.Atoi(line)
		child <- pid
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := <-child
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := p.kill(10 * time.Millisecond); err != nil || !p.Ended() {
		t.Errorf("%v; ended: %v", err, p.Ended())
	}
}
