package session

import (
	"encoding/json"
	"io"
	"net"

	"github.com/regentproject/regent/internal/page/shared"
	"golang.org/x/sys/unix"
)

// An intake reads a connection, and keeps a descriptor that comes with what it reads, while one is expected.
type intake struct {
	conn *net.UnixConn // nil: none is expected
	rest io.Reader
	fd   int // -1: none came
}

func newIntake(conn net.Conn, rest io.Reader) *intake {
	u, _ := conn.(*net.UnixConn)
	return &intake{conn: u, rest: rest, fd: -1}
}

// Read reads what there is.
func (i *intake) Read(b []byte) (int, error) {
	if i.conn == nil {
		return i.rest.Read(b)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := i.conn.ReadMsgUnix(b, rights)
	if err != nil {
		return 0, err // n is -1 after a reset
	}
	if fd, ok := descriptorIn(rights[:m]); ok {
		i.discard()
		i.fd = fd
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// discard closes a descriptor that nobody wants.
func (i *intake) discard() {
	if i.fd >= 0 {
		_ = unix.Close(i.fd)
		i.fd = -1
	}
}

// fetchPage asks the agent for its page and takes it into use. It is part of the greeting: nothing else is under way. Without a page everything
// gets messages.
func (c *Conn) fetchPage(from *intake, in *Reader) error {
	defer func() {
		from.discard()
		from.conn = nil
	}()
	if c.hello.Page == 0 || from.conn == nil {
		return nil
	}
	c.next++
	if err := c.send(&Request{Do: Page, ID: c.next}); err != nil {
		return err
	}
	for {
		line, err := in.Line()
		if err != nil {
			return err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.ID == c.next {
			break
		}
	}
	if fd := from.fd; fd >= 0 {
		from.fd = -1
		// Leases may be read after the connection is closed: what is used is unmapped when nothing refers to it.
		if memory, err := shared.Map(fd); err == nil && !c.usePage(memory) {
			_ = memory.Close()
		}
	}
	return nil
}

// descriptorIn returns the descriptor that came with a message. There is room for one only.
func descriptorIn(rights []byte) (int, bool) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1, false
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, false
	}
	return fds[0], true
}
