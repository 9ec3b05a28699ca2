//go:build unix

package owned

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	noFollow  = syscall.O_NOFOLLOW | syscall.O_NONBLOCK // a named pipe of another user must not block
	hasOwners = true
)

// trusted returns an error if neither this user nor root owns a file.
func trusted(path string, info fs.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("%s belongs to user %d, and this process runs as user %d: use a path that belongs to it or to root", path, s.Uid, os.Geteuid())
}

// keepOwner gives a new file the owner and the group of the one that it replaces. Only root may need to.
func keepOwner(f *os.File, old fs.FileInfo) error {
	s, ok := old.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(s.Uid), int(s.Gid))
}
