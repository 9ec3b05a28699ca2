package party

import (
	"net"
	"sync/atomic"
	"syscall"
)

// A Reader reads a connection and knows whether something was received that its owner has not dealt with. The owner is done with all
// that it has read when it reads again.
type Reader struct {
	conn net.Conn
	// raw is nil where the system cannot be asked.
	raw  syscall.RawConn
	busy atomic.Bool
}

// NewReader returns a reader of the connection.
func NewReader(conn net.Conn) *Reader {
	r := &Reader{conn: conn}
	if c, ok := conn.(syscall.Conn); ok && asksKernel {
		r.raw, _ = c.SyscallConn()
	}
	return r
}

// Read reads what there is. After an error nobody reads again.
func (r *Reader) Read(p []byte) (n int, err error) {
	r.busy.Store(false)
	if r.raw == nil {
		n, err = r.conn.Read(p)
	} else {
		n, err = r.read(p)
	}
	r.busy.Store(err == nil)
	return n, err
}

// Done says that the owner reads no more.
func (r *Reader) Done() { r.busy.Store(false) }

// Unread says that something was received and not dealt with. The kernel is asked first: what it no longer has is with a reader
// that is busy, or was dealt with.
func (r *Reader) Unread() bool { return r.raw != nil && r.waits() || r.busy.Load() }
