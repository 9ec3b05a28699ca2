package runtime

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread that blocks in an ordinary system call keeps its processor (Go's P) for up to ten milliseconds, and as long
// as it does Go's monitor thread looks at it again and again, more than a thousand times a second for a loop that waits
// some hundred times. That costs more than the loop itself. A call that is announced as blocking gives the processor up
// at once, and the monitor sleeps: measured with three members of the profile fast, 5.4 % of a core instead of 8.0 %.
//
// The two functions are the runtime's own, kept reachable for programs that need exactly this (go.dev/issue/67401).
// Should they go away the program does not link, and unix.Ppoll does the same for more.

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// ppoll is ppoll(2) on a thread that expects to wait: first for the first descriptor alone, then for all. It returns how many of the
// descriptors can be read; less than zero if the wait was cut short. Between the two waits the thread stays outside the scheduler, which
// would wake the monitor up. Nothing may grow the stack between the two calls of the runtime.
//
//go:nosplit
func ppoll(fds *unix.PollFd, n int, first, rest *unix.Timespec) int {
	entersyscallblock()
	var r uintptr
	var errno unix.Errno
	if first.Nsec != 0 || first.Sec != 0 {
		r, _, errno = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(fds)), 1, uintptr(unsafe.Pointer(first)), 0, 0, 0)
	}
	if r == 0 && errno == 0 {
		r, _, errno = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(fds)), uintptr(n), uintptr(unsafe.Pointer(rest)), 0, 0, 0)
	}
	exitsyscall()
	if errno != 0 {
		return -1
	}
	return int(r)
}
