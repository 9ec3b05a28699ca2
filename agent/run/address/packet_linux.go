package address

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Parts of frames: RFC 826 and RFC 5227 for version 4 of the protocol, RFC 4861 for version 6.
const (
	hardwareBytes = 6
	frameHeader   = 2*hardwareBytes + 2
	arpBytes      = 28
	arpRequest    = 1
	ipv6Header    = 40
	hopLimit      = 255 // of packets that no router has passed on
	icmpv6        = 58
	solicitation  = 135
	advertisement = 136
	targetAt      = 8 // of the target, from the start of the message
	messageBytes  = targetAt + 16
	override      = 0x20
	optionTarget  = 2 // the hardware address of the target
	optionBytes   = 8
	longestFrame  = 1514
)

var everybody = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// announcement returns a frame that tells all neighbours who has the address: a gratuitous ARP, or an unsolicited neighbour advertisement.
func announcement(ip netip.Addr, own net.HardwareAddr) []byte {
	if ip.Is4() {
		return arp(own, ip, ip)
	}
	m := make([]byte, messageBytes+optionBytes)
	m[0], m[4] = advertisement, override
	copy(m[targetAt:], ip.AsSlice())
	m[messageBytes], m[messageBytes+1] = optionTarget, 1
	copy(m[messageBytes+2:], own)
	return icmp(own, ip, netip.MustParseAddr("ff02::1"), m)
}

// question returns a frame by which a host without an address asks who has one.
func question(ip netip.Addr, own net.HardwareAddr) []byte {
	if ip.Is4() {
		return arp(own, netip.IPv4Unspecified(), ip)
	}
	m := make([]byte, messageBytes)
	m[0] = solicitation
	copy(m[targetAt:], ip.AsSlice())
	to := netip.MustParseAddr("ff02::1:ff00:0").As16()
	copy(to[13:], ip.AsSlice()[13:])
	return icmp(own, netip.IPv6Unspecified(), netip.AddrFrom16(to), m)
}

// arp returns a request to all neighbours.
func arp(own net.HardwareAddr, from, target netip.Addr) []byte {
	b := append(append([]byte{}, everybody...), own...)
	b = binary.BigEndian.AppendUint16(b, unix.ETH_P_ARP)
	b = append(b, 0, 1, 8, 0, hardwareBytes, 4, 0, arpRequest)
	b = append(append(b, own...), from.AsSlice()...)
	b = append(b, make([]byte, hardwareBytes)...)
	return append(b, target.AsSlice()...)
}

// icmp returns a frame with a message to a group of neighbours.
func icmp(own net.HardwareAddr, from, to netip.Addr, m []byte) []byte {
	last := to.AsSlice()[12:]
	b := append([]byte{0x33, 0x33}, last...)
	b = append(b, own...)
	b = binary.BigEndian.AppendUint16(b, unix.ETH_P_IPV6)
	b = append(b, 6<<4, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m)))
	b = append(b, icmpv6, hopLimit)
	b = append(append(b, from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(m[2:], checksum(from, to, m))
	return append(b, m...)
}

// checksum is that of a message, with the addresses that it travels between.
func checksum(from, to netip.Addr, m []byte) uint16 {
	b := append(append([]byte{}, from.AsSlice()...), to.AsSlice()...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(m)))
	b = append(b, 0, 0, 0, icmpv6)
	b = append(b, m...)
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// holder returns the hardware address that a frame gives for the address.
func holder(frame []byte, ip netip.Addr) (net.HardwareAddr, bool) {
	if len(frame) < frameHeader {
		return nil, false
	}
	body := frame[frameHeader:]
	switch kind := binary.BigEndian.Uint16(frame[2*hardwareBytes:]); {
	case kind == unix.ETH_P_ARP && ip.Is4() && len(body) >= arpBytes:
		from := body[8:]
		return from[:hardwareBytes], bytes.Equal(from[hardwareBytes:][:4], ip.AsSlice())
	case kind == unix.ETH_P_IPV6 && ip.Is6() && len(body) >= ipv6Header+messageBytes && body[6] == icmpv6 && body[7] == hopLimit:
		m := body[ipv6Header:]
		return frame[hardwareBytes:][:hardwareBytes], m[0] == advertisement && bytes.Equal(m[targetAt:messageBytes], ip.AsSlice())
	}
	return nil, false
}

// open opens a socket for frames of an interface, which must have hardware addresses; nil: it has none.
func (a Address) open() (s *os.File, link *net.Interface, err error) {
	link, err = a.link()
	if err != nil || len(link.HardwareAddr) != hardwareBytes {
		return nil, link, err
	}
	kind := uint16(unix.ETH_P_ARP)
	if a.Prefix.Addr().Is6() {
		kind = unix.ETH_P_IPV6
	}
	kind = kind<<8 | kind>>8 // the kernel wants it as on the network
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		kind = kind<<8 | kind>>8
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(kind))
	if err != nil {
		return nil, link, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: kind, Ifindex: link.Index}); err != nil {
		_ = unix.Close(fd)
		return nil, link, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(fd), "packet"), link, nil
}

// Announce tells all neighbours that this host has the address.
func (a Address) Announce() error {
	s, link, err := a.open()
	if s == nil {
		return err
	}
	defer s.Close()
	if _, err := s.Write(announcement(a.Prefix.Addr(), link.HardwareAddr)); err != nil {
		return fmt.Errorf("announce %v: %w", a, err)
	}
	return nil
}

// Probe asks the network whether another host has the address, and returns its hardware address; empty: nobody answered in time.
func (a Address) Probe(within time.Duration) (string, error) {
	s, link, err := a.open()
	if s == nil {
		return "", err
	}
	defer s.Close()
	if err := s.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	if _, err := s.Write(question(a.Prefix.Addr(), link.HardwareAddr)); err != nil {
		return "", fmt.Errorf("ask for %v: %w", a, err)
	}
	for frame := make([]byte, longestFrame); ; {
		n, err := s.Read(frame)
		switch {
		case os.IsTimeout(err):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("ask for %v: %w", a, err)
		}
		if who, ok := holder(frame[:n], a.Prefix.Addr()); ok && !bytes.Equal(who, link.HardwareAddr) {
			return who.String(), nil
		}
	}
}

// MayChange says that this process may change addresses.
func MayChange() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_NET_ADMIN) != 0
}
