package party

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

const asksKernel = true

// read is busy before the kernel gives something away.
func (r *Reader) read(p []byte) (n int, err error) {
	outer := r.raw.Read(func(fd uintptr) bool {
		r.busy.Store(true)
		for {
			n, err = unix.Read(int(fd), p)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if errors.Is(err, unix.EAGAIN) {
			r.busy.Store(false)
			return false
		}
		return true
	})
	switch {
	case outer != nil:
		return 0, outer
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// waits says that the kernel has something.
func (r *Reader) waits() (yes bool) {
	_ = r.raw.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		yes = err == nil && n > 0
	})
	return yes
}
