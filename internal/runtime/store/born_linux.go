package store

import "golang.org/x/sys/unix"

// born returns when a file or directory was made, in seconds and nanoseconds; false where the file system does not keep it.
func born(path string) (sec int64, nsec uint32, ok bool) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &s); err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0, 0, false
	}
	return s.Btime.Sec, s.Btime.Nsec, true
}
