package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An AddressWatch sees which hosts of a cluster of namespaces have an address. The kernel queues the changes of all namespaces in one socket, each
// while it holds the lock under which addresses change: so their order is the order in which they happened, however busy the host is.
type AddressWatch struct {
	addr   netip.Addr
	socket *os.File
	done   chan struct{}

	mu sync.Mutex
	// holders are namespaces by their numbers.
	holders map[int32]bool
	changes []AddressChange
}

// An AddressChange is that a host got or lost the address.
type AddressChange struct {
	// At is when the change was read: later than it happened.
	At        time.Time
	Namespace int32
	Added     bool
	// Holders is how many hosts had the address then.
	Holders int
}

func (c AddressChange) String() string {
	verb := "lost it"
	if c.Added {
		verb = "got it"
	}
	return fmt.Sprintf("%s namespace %d %s: %d have it", c.At.Format("15:04:05.000"), c.Namespace, verb, c.Holders)
}

var errNoNamespaces = errors.New("addresses are watched in network namespaces: Options.Hosts")

// WatchAddress begins to watch.
func (c *Cluster) WatchAddress(addr netip.Addr) (*AddressWatch, error) {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return nil, errNoNamespaces
	}
	w := &AddressWatch{addr: addr, holders: make(map[int32]bool), done: make(chan struct{})}
	err := within(n.hub, func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		w.socket = os.NewFile(uintptr(fd), "netlink")
		const room = 4 << 20
		return errors.Join(unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
			unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR}))
	})
	if err != nil {
		return nil, fmt.Errorf("watch addresses: %w", err)
	}
	go w.read()
	return w, nil
}

// read takes changes until the socket is closed.
func (w *AddressWatch) read() {
	defer close(w.done)
	raw, err := w.socket.SyscallConn()
	if err != nil {
		return
	}
	b, oob := make([]byte, 1<<16), make([]byte, 1<<10)
	for {
		var n, oobn int
		var failure error
		err := raw.Read(func(fd uintptr) bool {
			n, oobn, _, _, failure = unix.Recvmsg(int(fd), b, oob, 0)
			return !errors.Is(failure, unix.EAGAIN)
		})
		if err != nil || failure != nil {
			return
		}
		w.take(b[:n], namespaceOf(oob[:oobn]))
	}
}

// namespaceOf returns the number of the namespace that a message is from.
func namespaceOf(oob []byte) int32 {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1
	}
	for _, m := range all {
		if m.Header.Level == unix.SOL_NETLINK && m.Header.Type == unix.NETLINK_LISTEN_ALL_NSID && len(m.Data) >= 4 {
			return int32(binary.NativeEndian.Uint32(m.Data))
		}
	}
	return -1
}

// take reads what a message is about.
func (w *AddressWatch) take(b []byte, namespace int32) {
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return
		}
		kind := binary.NativeEndian.Uint16(b[4:])
		if kind == unix.RTM_NEWADDR || kind == unix.RTM_DELADDR {
			w.change(b[unix.NLMSG_HDRLEN:size], namespace, kind == unix.RTM_NEWADDR)
		}
		b = b[min(len(b), (size+3)&^3):]
	}
}

func (w *AddressWatch) change(b []byte, namespace int32, added bool) {
	ip := w.addr.AsSlice()
	for a := b[min(len(b), unix.SizeofIfAddrmsg):]; len(a) >= unix.SizeofRtAttr; {
		size, kind := int(binary.NativeEndian.Uint16(a)), binary.NativeEndian.Uint16(a[2:])
		if size < unix.SizeofRtAttr || size > len(a) {
			return
		}
		if kind == unix.IFA_ADDRESS && slices.Equal(a[unix.SizeofRtAttr:size], ip) {
			w.note(namespace, added)
			return
		}
		a = a[min(len(a), (size+3)&^3):]
	}
}

// note takes note of a change; a refresh is none.
func (w *AddressWatch) note(namespace int32, added bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holders[namespace] == added {
		return
	}
	if added {
		w.holders[namespace] = true
	} else {
		delete(w.holders, namespace)
	}
	w.changes = append(w.changes, AddressChange{At: time.Now(), Namespace: namespace, Added: added, Holders: len(w.holders)})
}

// Changes returns all changes until now.
func (w *AddressWatch) Changes() []AddressChange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes)
}

// Close ends the watch.
func (w *AddressWatch) Close() {
	_ = w.socket.Close()
	<-w.done
}

// HasAddress returns the hosts that have an address now.
func (c *Cluster) HasAddress(addr netip.Addr) ([]string, error) {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return nil, errNoNamespaces
	}
	var out []string
	for _, name := range c.Names {
		err := within(n.hosts[name], func() error {
			all, err := net.InterfaceAddrs()
			for _, a := range all {
				if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
					out = append(out, name)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Neighbour returns the hardware address that the switch has for an address in its table, and that of the interface of a host.
func (c *Cluster) Neighbour(addr netip.Addr, host string) (entry, hardware string, err error) {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return "", "", errNoNamespaces
	}
	err = within(n.hub, func() error {
		b, err := os.ReadFile("/proc/thread-self/net/arp")
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 3 && f[0] == addr.String() {
				entry = f[3]
			}
		}
		return err
	})
	if err != nil {
		return "", "", err
	}
	err = within(n.hosts[host], func() error {
		link, err := net.InterfaceByName("eth0")
		if err == nil {
			hardware = link.HardwareAddr.String()
		}
		return err
	})
	return entry, hardware, err
}

// A Ping asks an address again and again, from the switch, until it is closed.
type Ping struct {
	conn net.PacketConn
	done chan struct{}

	mu      sync.Mutex
	answers []time.Time
}

// pingEvery is how far apart questions are.
const pingEvery = 5 * time.Millisecond

// Ping begins to ask.
func (c *Cluster) Ping(addr netip.Addr) (*Ping, error) {
	n, ok := c.hosts.(*namespaces)
	if !ok {
		return nil, errNoNamespaces
	}
	p := &Ping{done: make(chan struct{})}
	err := within(n.hub, func() (err error) {
		p.conn, err = net.ListenPacket("ip4:icmp", "0.0.0.0")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	go p.ask(&net.IPAddr{IP: addr.AsSlice()})
	go p.hear(addr)
	return p, nil
}

// ask sends questions.
func (p *Ping) ask(to net.Addr) {
	pause := time.NewTicker(pingEvery)
	defer pause.Stop()
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0} // the checksum is that of the rest
	for {
		select {
		case <-p.done:
			return
		case <-pause.C:
			_, _ = p.conn.WriteTo(echo, to) // nobody may have the address
		}
	}
}

// hear takes answers.
func (p *Ping) hear(from netip.Addr) {
	for b := make([]byte, 1<<10); ; {
		n, who, err := p.conn.ReadFrom(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil || n == 0 || b[0] != 0 || who.String() != from.String():
			continue
		}
		p.mu.Lock()
		p.answers = append(p.answers, time.Now())
		p.mu.Unlock()
	}
}

// Answers returns when answers came.
func (p *Ping) Answers() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.answers)
}

// Close ends the questions.
func (p *Ping) Close() {
	close(p.done)
	_ = p.conn.Close()
}
