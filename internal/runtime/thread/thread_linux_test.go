package thread

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A real-time thread would hand its scheduling on to what it starts: a program could then hold a processor for itself.
func TestWhatIsStartedIsOrdinary(t *testing.T) {
	policy := func(pid int) (uint32, uint64) {
		attr, err := unix.SchedGetAttr(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy, attr.Flags
	}
	c := exec.Command("/bin/sleep", "1000")
	ran := false
	Run(true, func() {
		if p, _ := policy(0); p == unix.SCHED_FIFO {
			ran = true
			if err := c.Start(); err != nil {
				t.Error(err)
			}
		}
	})
	if !ran {
		t.Fatal("this process may not have real-time scheduling")
	}
	defer c.Wait()
	defer c.Process.Kill()
	if p, _ := policy(c.Process.Pid); p != unix.SCHED_NORMAL {
		t.Errorf("what the thread started has policy %d", p)
	}
	Run(false, func() {
		if p, _ := policy(0); p != unix.SCHED_NORMAL {
			t.Errorf("a thread that was to be ordinary has policy %d", p)
		}
	})
	if p, _ := policy(0); p != unix.SCHED_NORMAL {
		t.Errorf("the thread of another goroutine has policy %d", p)
	}
}
