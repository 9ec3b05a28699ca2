package processes

import (
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Groups returns the supplementary groups of the process that opened a connection.
func Groups(conn net.Conn) []int {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil
	}
	buf := make([]uint32, 64)
	var n uint32
	var inner error
	err = raw.Control(func(fd uintptr) {
		for {
			n = uint32(len(buf)) * 4
			_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS, uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&n)), 0)
			if errno == unix.ERANGE && n/4 > uint32(len(buf)) {
				buf = make([]uint32, n/4)
				continue
			}
			if errno != 0 {
				inner = errno
			}
			return
		}
	})
	if errors.Join(err, inner) != nil {
		return nil
	}
	var out []int
	for _, gid := range buf[:n/4] {
		out = append(out, int(gid))
	}
	return out
}
