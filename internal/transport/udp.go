package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// DefaultBuffer is how many bytes of datagrams the kernel is asked to hold for a socket whose reader is late.
const DefaultBuffer = 4 << 20

// Listen opens a UDP socket. The unspecified address :: takes IPv4 too, where the system can. Port 0 takes a free one.
func Listen(addr netip.AddrPort) (Conn, error) {
	network := "udp"
	switch a := addr.Addr(); {
	case !a.IsValid():
		return nil, fmt.Errorf("listen on %v: give an address, such as [::]:7400", addr)
	case a.Is4() || a.Is4In6():
		network = "udp4"
	case !a.IsUnspecified():
		network = "udp6"
	}
	c, err := new(net.ListenConfig).ListenPacket(context.Background(), network, addr.String())
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("listen on %v: %w (no interface of this host has the address: correct the name of the member or its address, or set bind)", addr, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %v: %w (another process has the port: stop it, such as a second agent, or use another port)", addr, err)
	case err != nil:
		return nil, fmt.Errorf("listen on %v: %w", addr, err)
	}
	udp := c.(*net.UDPConn)
	// The kernel gives what it may; a smaller buffer only loses more in a burst.
	_ = udp.SetReadBuffer(DefaultBuffer)
	_ = udp.SetWriteBuffer(DefaultBuffer)
	conn, err := newUDP(udp)
	if err != nil {
		udp.Close()
		return nil, fmt.Errorf("listen on %v: %w", addr, err)
	}
	return conn, nil
}

// local returns the address of a socket, with IPv4 as IPv4.
func local(c *net.UDPConn) netip.AddrPort {
	return unmap(c.LocalAddr().(*net.UDPAddr).AddrPort())
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
