package thread

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Priority is that of real-time threads, and the lowest there is: above all ordinary threads, and below all threads that were given a
// priority on purpose.
const Priority = 1

// Claim locks the calling goroutine to its thread and makes the kernel wake it as exactly as it may. Other
// threads inherit none of it: Go starts them from a thread of their own once one is locked.
func Claim(realtime bool) (Scheduling, error) {
	runtime.LockOSThread()
	// One nanosecond of slack instead of fifty microseconds. Real-time threads have none.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	if !realtime {
		return Ordinary, nil
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: Priority,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return Ordinary, fmt.Errorf("real-time scheduling: %w: it takes CAP_SYS_NICE or an RLIMIT_RTPRIO of at least %d",
			err, Priority)
	}
	return Realtime, nil
}

// NameProcess gives this process the name that ps and top show, of which the kernel keeps 15 bytes. One that was started from /proc/self/exe would be
// called "exe". It is the name of the first thread: PR_SET_NAME would name that of the caller.
func NameProcess(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }
