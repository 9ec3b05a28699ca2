package party

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// onResume has f called after every suspend, and whenever the wall clock is set. The kernel cancels a timer of the wall clock
// then.
func onResume(f func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return // the alarm rings late; the clock is right
	}
	arm := func() error {
		never := unix.ItimerSpec{Value: unix.NsecToTimespec(time.Now().AddDate(1, 0, 0).UnixNano())}
		return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
	}
	if arm() != nil {
		_ = unix.Close(fd)
		return
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	go func() {
		var count [8]byte
		for {
			_, err := file.Read(count[:])
			if err != nil && !errors.Is(err, unix.ECANCELED) || arm() != nil {
				return
			}
			f()
		}
	}()
}
