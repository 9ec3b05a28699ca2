package party

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// aYear is in seconds.
const aYear = 366 * 24 * 60 * 60

// onResume has f called after every suspend, and whenever the wall clock is set. The kernel cancels a timer of the wall clock
// then.
func onResume(f func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return // the alarm rings late; the clock is right
	}
	if armResume(fd) != nil {
		_ = unix.Close(fd)
		return
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	go func() {
		var count [8]byte
		for {
			_, err := file.Read(count[:])
			if err != nil && !errors.Is(err, unix.ECANCELED) || armResume(fd) != nil {
				return
			}
			f()
		}
	}()
}

// armResume sets the timer for an instant that does not come. It reads the clock of the kernel: that of package time is another one in a
// bubble of testing/synctest, and a timer for an instant that has passed rings again and again.
func armResume(fd int) error {
	var far unix.ItimerSpec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &far.Value); err != nil {
		return err
	}
	far.Value.Sec += aYear
	return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &far, nil)
}
