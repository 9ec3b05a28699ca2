package httpd

import (
	"bufio"
	"net"
	"sync"
)

// Peeked is a connection of which something was read already.
type Peeked struct {
	net.Conn
	In     *bufio.Reader
	Closed func()
	once   sync.Once
}

func (p *Peeked) Read(b []byte) (int, error) { return p.In.Read(b) }

func (p *Peeked) Close() error {
	p.once.Do(p.Closed)
	return p.Conn.Close()
}

// ConnQueue is a listener whose connections were accepted elsewhere.
type ConnQueue struct {
	c    chan net.Conn
	end  chan struct{}
	once sync.Once
}

func NewConnQueue() *ConnQueue { return &ConnQueue{c: make(chan net.Conn), end: make(chan struct{})} }

// Put hands a connection over, and says whether anybody took it.
func (f *ConnQueue) Put(c net.Conn) bool {
	select {
	case f.c <- c:
		return true
	case <-f.end:
		return false
	}
}

// Accept waits for the next connection.
func (f *ConnQueue) Accept() (net.Conn, error) {
	select {
	case c := <-f.c:
		return c, nil
	case <-f.end:
		return nil, net.ErrClosed
	}
}

// Close is called by the server; connections are refused from then on.
func (f *ConnQueue) Close() error { f.Shut(); return nil }

func (f *ConnQueue) Shut() { f.once.Do(func() { close(f.end) }) }

// Addr names the listener.
func (f *ConnQueue) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: "socket"} }
