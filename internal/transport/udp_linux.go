package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxBatch is how many datagrams one system call takes.
const maxBatch = 64

// udp uses recvmmsg(2) and sendmmsg(2). We call them ourselves and not by way of x/net, because its ReadBatch cannot
// but wait, and makes a net.Addr for each datagram: two allocations that a stranger decides on.
type udp struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	addr netip.AddrPort
	fd   int
	in4  bool // the socket speaks IPv4 only
	room int  // for a filter

	in, out batch
	readFn  func(fd uintptr) bool
	writeFn func(fd uintptr) bool
	zones   map[string]uint32
}

// batch is what one direction hands to the kernel.
type batch struct {
	headers [maxBatch]mmsghdr
	vectors [maxBatch]unix.Iovec
	names   [maxBatch]unix.RawSockaddrInet6 // with room for an IPv4 address as well

	count int // how many to send, or at most to receive
	wait  bool
	n     int
	err   error
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	n uint32
}

func newUDP(c *net.UDPConn) (Conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	u := &udp{conn: c, raw: raw, addr: local(c), zones: make(map[string]uint32), room: readRoom()}
	var domain int
	var domainErr error
	err = raw.Control(func(fd uintptr) {
		u.fd = int(fd)
		domain, domainErr = unix.GetsockoptInt(u.fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	})
	if err := errors.Join(err, domainErr); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	u.in4 = domain == unix.AF_INET
	for _, b := range []*batch{&u.in, &u.out} {
		for i := range b.headers {
			b.headers[i].Iov = &b.vectors[i]
			b.headers[i].SetIovlen(1)
			b.headers[i].Name = (*byte)(unsafe.Pointer(&b.names[i]))
		}
	}
	u.readFn, u.writeFn = u.receive, u.send
	return u, nil
}

func (u *udp) LocalAddr() netip.AddrPort { return u.addr }
func (u *udp) Descriptor() int           { return u.fd }
func (u *udp) Close() error              { return u.conn.Close() }

func (u *udp) Read(ps []Packet) (int, error)    { return u.read(ps, true) }
func (u *udp) TryRead(ps []Packet) (int, error) { return u.read(ps, false) }

func (u *udp) read(ps []Packet, wait bool) (int, error) {
	b := &u.in
	b.count, b.wait = min(len(ps), maxBatch), wait
	if b.count == 0 {
		return 0, nil
	}
	for i := range b.count {
		data := ps[i].Data[:cap(ps[i].Data)]
		b.vectors[i].Base = unsafe.SliceData(data)
		b.vectors[i].SetLen(len(data))
		b.headers[i].Namelen = unix.SizeofSockaddrInet6
	}
	if err := u.raw.Read(u.readFn); err != nil {
		return 0, err
	}
	if b.err != nil {
		return 0, fmt.Errorf("receive on %v: %w", u.addr, b.err)
	}
	for i := range b.n {
		ps[i].Data = ps[i].Data[:b.headers[i].n]
		ps[i].Addr = source(&b.names[i])
	}
	return b.n, nil
}

// receive is called with the socket, and again when something can be read if it returns false.
func (u *udp) receive(fd uintptr) bool {
	b := &u.in
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), uintptr(b.count), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			b.n, b.err = int(n), nil
			return true
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			b.n, b.err = 0, nil
			return !b.wait
		}
		b.n, b.err = 0, errno
		return true
	}
}

func (u *udp) Write(ps []Packet) (int, error) {
	sent := 0
	var first error
	for len(ps) > 0 {
		n, failed, err := u.write(ps[:min(len(ps), maxBatch)])
		sent += n
		if err != nil && first == nil {
			first = fmt.Errorf("send to %v: %w", ps[n].Addr, err)
		}
		if errors.Is(err, net.ErrClosed) {
			return sent, err
		}
		ps = ps[n+failed:]
	}
	return sent, first
}

// write sends packets up to the first that fails, and says how many were sent and how many failed.
func (u *udp) write(ps []Packet) (sent, failed int, err error) {
	b := &u.out
	for b.count = 0; b.count < len(ps); b.count++ {
		p := &ps[b.count]
		size, err := u.destination(&b.names[b.count], p.Addr)
		if err != nil {
			if b.count == 0 {
				return 0, 1, err
			}
			break // its turn comes
		}
		b.headers[b.count].Namelen = size
		b.vectors[b.count].Base = unsafe.SliceData(p.Data)
		b.vectors[b.count].SetLen(len(p.Data))
	}
	if err := u.raw.Write(u.writeFn); err != nil {
		return 0, len(ps), err
	}
	if b.err != nil {
		return 0, 1, b.err
	}
	return b.n, 0, nil
}

// send never waits: where the kernel has no room the datagram is lost, and the loop goes on.
func (u *udp) send(fd uintptr) bool {
	b := &u.out
	for {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), uintptr(b.count), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			b.n, b.err = int(n), nil
			return true
		case unix.EINTR:
			continue
		}
		b.n, b.err = 0, errno
		return true
	}
}

var errFamily = errors.New("an IPv4 socket cannot send to IPv6: listen on [::]")

// destination writes the kernel's form of an address.
func (u *udp) destination(name *unix.RawSockaddrInet6, a netip.AddrPort) (size uint32, err error) {
	ip := a.Addr()
	if u.in4 {
		if ip = ip.Unmap(); !ip.Is4() {
			return 0, errFamily
		}
		n4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		*n4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: ip.As4()}
		putPort(&n4.Port, a.Port())
		return unix.SizeofSockaddrInet4, nil
	}
	if !ip.IsValid() {
		return 0, errors.New("no address")
	}
	*name = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: ip.As16()}
	putPort(&name.Port, a.Port())
	if zone := ip.Zone(); zone != "" {
		name.Scope_id, err = u.zone(zone)
	}
	return unix.SizeofSockaddrInet6, err
}

// zone finds the number of an interface, once.
func (u *udp) zone(name string) (uint32, error) {
	if id, ok := u.zones[name]; ok {
		return id, nil
	}
	id, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		in, err := net.InterfaceByName(name)
		if err != nil {
			return 0, fmt.Errorf("zone %s: %w", name, err)
		}
		id = uint64(in.Index)
	}
	u.zones[name] = uint32(id)
	return uint32(id), nil
}

// source reads the kernel's form of an address.
func source(name *unix.RawSockaddrInet6) netip.AddrPort {
	if name.Family == unix.AF_INET {
		n4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(n4.Addr), port(&n4.Port))
	}
	return netip.AddrPortFrom(netip.AddrFrom16(name.Addr).Unmap(), port(&name.Port))
}

// Ports are in network order.
func putPort(to *uint16, p uint16) { binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(to))[:], p) }
func port(of *uint16) uint16       { return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(of))[:]) }
