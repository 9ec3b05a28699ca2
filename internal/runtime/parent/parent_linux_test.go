package parent

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A child that is to die with its parent outlives the thread of the goroutine that had it started.
func TestChildOutlivesTheThreadOfWhoStartedIt(t *testing.T) {
	c := exec.Command("cat")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, tid := make(chan error), 0
	var begin func()
	begin = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if tid = syscall.Gettid(); tid == os.Getpid() {
			go begin() // the first thread never ends, and is nobody else's from now on
			return
		}
		started <- Start(c)
	}
	go begin()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the thread does not end: the test shows nothing")
		}
		time.Sleep(time.Millisecond) // wall clock: a real thread ends
	}
	if _, err := io.WriteString(in, "well\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "well\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	_ = in.Close()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestErrorsAreReturned(t *testing.T) {
	if err := Start(exec.Command("no-such-program-anywhere")); err == nil {
		t.Error("it started")
	}
}
