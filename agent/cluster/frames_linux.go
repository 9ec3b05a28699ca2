package cluster

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Alone calls a test on a thread with a network of its own, in which there is no more than a loopback interface that is down. It returns at once if this user
// may not make one.
func Alone(t T, test func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("%v", err)
			return
		}
		test()
	}()
	<-done
}

// IP runs the tool of that name on a host of a cluster of namespaces.
func (c *Cluster) IP(host, line string) error {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return errNoNamespaces
	}
	return ip(n.hosts[host], line)
}

// Announcements counts the frames by which hosts announce that they have an address, as they come to one of the hosts.
type Announcements struct {
	addr   netip.Addr
	socket *os.File
	n      atomic.Int64
}

// WatchAnnouncements begins to count, at the switch's end of the cable of a host.
func (c *Cluster) WatchAnnouncements(addr netip.Addr, host string) (*Announcements, error) {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return nil, errNoNamespaces
	}
	a := &Announcements{addr: addr}
	err := within(n.hub, func() error {
		link, err := net.InterfaceByName(cable(n.index(host)))
		if err != nil {
			return err
		}
		all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)) // the kernel wants it as on the network
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(all))
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		a.socket = os.NewFile(uintptr(fd), "packet")
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	})
	if err != nil {
		return nil, err
	}
	go func() {
		for frame := make([]byte, 1<<11); ; {
			n, err := a.socket.Read(frame)
			if errors.Is(err, os.ErrClosed) {
				return
			}
			if err == nil && announces(frame[:n], addr) {
				a.n.Add(1)
			}
		}
	}()
	return a, nil
}

// announces says that a frame announces an address: it is a gratuitous ARP, or a neighbour advertisement.
func announces(frame []byte, addr netip.Addr) bool {
	const header, from, to, messageAt, target = 14, 14, 24, 40, 48
	if len(frame) < header {
		return false
	}
	ip, body := addr.AsSlice(), frame[header:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		return addr.Is4() && len(body) >= to+len(ip) && slices.Equal(body[from:][:len(ip)], ip) && slices.Equal(body[to:][:len(ip)], ip)
	case unix.ETH_P_IPV6:
		const advertisement = 136
		return addr.Is6() && len(body) >= target+len(ip) && body[6] == unix.IPPROTO_ICMPV6 && body[messageAt] == advertisement && slices.Equal(body[target:][:len(ip)], ip)
	}
	return false
}

// Count returns how many there were.
func (a *Announcements) Count() int { return int(a.n.Load()) }

// Close ends the count.
func (a *Announcements) Close() { _ = a.socket.Close() }
