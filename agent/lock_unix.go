//go:build unix

package agent

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockDir takes the lock of a directory, for as long as the file is open. An agent holds it while it looks whether
// another one listens at its path and, if not, puts its socket there: of two that start at once, the second then finds the
// first.
func lockDir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockLimit); ; time.Sleep(lockLimit / 100) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("lock of %s: %w: who else holds it?", path, err), f.Close())
		}
	}
}

// lockLimit is how long the lock is waited for: far longer than anybody of good will holds it.
const lockLimit = 2 * time.Second
