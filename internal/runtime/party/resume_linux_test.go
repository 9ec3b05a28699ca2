package party

import (
	"errors"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

func TestTheTimerForResumesDoesNotRingByItself(t *testing.T) {
	look := func(t *testing.T) {
		fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(fd) }()
		if err := armResume(fd); err != nil {
			t.Fatal(err)
		}
		var count [8]byte
		if _, err := unix.Read(fd, count[:]); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("it rings at once: %v", err)
		}
	}
	look(t)
	synctest.Test(t, look) // where package time begins in the year 2000
}
