//go:build !linux

package session

import (
	"io"
	"net"
)

// An intake reads a connection.
type intake struct{ io.Reader }

func newIntake(_ net.Conn, rest io.Reader) *intake { return &intake{rest} }

// fetchPage does nothing: this system has no page.
func (c *Conn) fetchPage(*intake, *Reader) error { return nil }
