package fault

import (
	"time"

	"golang.org/x/sys/unix"
)

// precise waits in ppoll(2) on a thread of its own. A timer of package time first has to find a thread that runs its
// goroutine, which takes a few hundred microseconds where the processors are busy.
type precise struct{ event int }

func newPrecise() waiter {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return newTimer()
	}
	return &precise{fd}
}

func (p *precise) locked() bool { return true }

// begin asks for wake-ups without the slack that lets the kernel gather timers.
func (p *precise) begin() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

func (p *precise) wait(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	fds := []unix.PollFd{{Fd: int32(p.event), Events: unix.POLLIN}}
	if n, _ := unix.Ppoll(fds, &ts, nil); n > 0 {
		var buf [8]byte
		_, _ = unix.Read(p.event, buf[:])
	}
}

func (p *precise) wake() {
	_, _ = unix.Write(p.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (p *precise) close() { _ = unix.Close(p.event) }
