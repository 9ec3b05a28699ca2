package runtime

import (
	"time"

	"github.com/regentproject/regent/internal/runtime/thread"
	"golang.org/x/sys/unix"
)

// osThread is the calling thread.
type osThread struct{}

func (osThread) cpu() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (osThread) sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // a signal may end it
}

func (osThread) realtime() bool {
	a, err := unix.SchedGetAttr(0, 0)
	return err == nil && a.Policy == unix.SCHED_FIFO
}

func (osThread) setRealtime(on bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if on {
		attr = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: thread.Priority, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	}
	return unix.SchedSetAttr(0, &attr, 0)
}
