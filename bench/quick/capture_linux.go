package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Where the fields of a UDP packet over IPv4 are, and what its headers take.
const (
	ipProtocol = 9
	ipTarget   = 16
	udpPort    = 2
	udpHeader  = 8
)

// capture records a datagram to an address of the loopback interface, as one who can look at the network does. It needs CAP_NET_RAW.
func capture(to string, within time.Duration) ([]byte, error) {
	at, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, err
	}
	network := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_IP))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(network))
	if err != nil {
		return nil, fmt.Errorf("record a packet: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval((100 * time.Millisecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return nil, err
	}
	b := make([]byte, 1<<16)
	for begin := time.Now(); time.Since(begin) < within; {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if ip := b[:n]; n > ipTarget+4 && ip[ipProtocol] == unix.IPPROTO_UDP && netip.AddrFrom4([4]byte(ip[ipTarget:])) == at.Addr() {
			udp := ip[int(ip[0]&0xf)*4:]
			if len(udp) > udpHeader && binary.BigEndian.Uint16(udp[udpPort:]) == at.Port() {
				return udp[udpHeader:], nil
			}
		}
	}
	return nil, fmt.Errorf("record a packet to %s: none came within %v", to, within)
}
