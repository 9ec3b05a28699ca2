package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Where the fields of UDP over IPv4 are.
const (
	ipProtocol = 9
	ipSource   = 12
	ipTarget   = 16
	ipHeader   = 20
	udpHeader  = 8
)

// recordPoll is how often Record looks at the time when nothing is sent.
const recordPoll = 100 * time.Millisecond

// Record calls f with every datagram of UDP over IPv4 that it sees in the network namespace of the process, as one does who can look at the
// network, until f returns false. It needs CAP_NET_RAW. On the loopback interface it sees a datagram twice.
func Record(within time.Duration, f func(Recorded) bool) error {
	network := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_IP))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(network))
	if err != nil {
		return fmt.Errorf("record packets: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(recordPoll.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return fmt.Errorf("record packets: %w", err)
	}
	b := make([]byte, 1<<16)
	for begin := time.Now(); time.Since(begin) < within; {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("record packets: %w", err)
		}
		if r, ok := parseUDP(b[:n]); ok && !f(r) {
			return nil
		}
	}
	return fmt.Errorf("record packets: not enough of them came within %v", within)
}

// parseUDP reads an IP packet; false if it is not UDP.
func parseUDP(ip []byte) (r Recorded, ok bool) {
	if len(ip) < ipHeader || ip[ipProtocol] != unix.IPPROTO_UDP {
		return r, false
	}
	head := int(ip[0]&0xf) * 4
	if head < ipHeader || len(ip) < head+udpHeader {
		return r, false
	}
	udp := ip[head:]
	r.From = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[ipSource:])), binary.BigEndian.Uint16(udp))
	r.To = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[ipTarget:])), binary.BigEndian.Uint16(udp[2:]))
	r.Data = append([]byte(nil), udp[udpHeader:]...)
	return r, true
}
