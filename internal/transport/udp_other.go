//go:build !linux

package transport

import (
	"errors"
	"net"
	"net/netip"
)

// udp reads and writes one datagram at a time.
type udp struct {
	conn *net.UDPConn
	addr netip.AddrPort
}

func newUDP(c *net.UDPConn) (Conn, error) { return &udp{c, local(c)}, nil }

func (u *udp) LocalAddr() netip.AddrPort { return u.addr }
func (u *udp) Close() error              { return u.conn.Close() }

func (u *udp) Read(ps []Packet) (int, error) {
	if len(ps) == 0 {
		return 0, nil
	}
	p := &ps[0]
	// Some systems report on a read that an earlier datagram was not delivered. That is not about what can be read.
	var n int
	var addr netip.AddrPort
	var err error
	for range 100 {
		n, addr, err = u.conn.ReadFromUDPAddrPort(p.Data[:cap(p.Data)])
		if err == nil {
			p.Data, p.Addr = p.Data[:n], unmap(addr)
			return 1, nil
		}
		if errors.Is(err, net.ErrClosed) {
			break
		}
	}
	return 0, err
}

func (u *udp) Write(ps []Packet) (int, error) {
	sent := 0
	var first error
	for i := range ps {
		if _, err := u.conn.WriteToUDPAddrPort(ps[i].Data, ps[i].Addr); err == nil {
			sent++
		} else if first == nil {
			first = err
		}
	}
	return sent, first
}
