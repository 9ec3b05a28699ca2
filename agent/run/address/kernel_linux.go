package address

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// callWithin bounds one call of the kernel.
const callWithin = time.Second

// lengths of the kernel's structures, and of an address of version 4.
const (
	headerBytes    = unix.SizeofIfAddrmsg
	cacheInfoBytes = 16
	longest4       = 32
	pairLength     = 31 // a network of two hosts has no broadcast address
)

// call makes one request of the kernel's table of addresses, and returns the answers.
func call(kind uint16, flags netlink.HeaderFlags, data []byte) ([]netlink.Message, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, os.NewSyscallError("netlink", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(callWithin)); err != nil {
		return nil, err
	}
	out, err := c.Execute(netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | flags}, Data: data})
	var of *netlink.OpError
	if errors.As(err, &of) {
		err = of.Err
	}
	return out, err
}

// header writes the fixed part of a request about an address.
func header(prefix netip.Prefix, flags uint8, link int) []byte {
	b := make([]byte, headerBytes)
	b[0], b[1], b[2], b[3] = unix.AF_INET, uint8(prefix.Bits()), flags, unix.RT_SCOPE_UNIVERSE
	if prefix.Addr().Is6() {
		b[0] = unix.AF_INET6
		if prefix.Addr().IsLinkLocalUnicast() {
			b[3] = unix.RT_SCOPE_LINK
		}
	}
	binary.NativeEndian.PutUint32(b[4:], uint32(link))
	return b
}

// broadcast returns the last address of a network of version 4.
func broadcast(prefix netip.Prefix) []byte {
	b := prefix.Masked().Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) | uint32(1)<<(longest4-prefix.Bits()) - 1
	return binary.BigEndian.AppendUint32(nil, n)
}

// Set adds the address, or refreshes it. The kernel removes it when the lifetime has passed, which is whole seconds.
func (a Address) Set(lifetime time.Duration) error {
	link, err := a.link()
	if err != nil {
		return err
	}
	ip := a.Prefix.Addr().AsSlice()
	e := netlink.NewAttributeEncoder()
	e.Bytes(unix.IFA_LOCAL, ip)
	e.Bytes(unix.IFA_ADDRESS, ip)
	var flags uint8
	switch {
	case a.Prefix.Addr().Is6():
		flags = unix.IFA_F_NODAD // the address is of use at once; other holders are looked for in the background
	case a.Prefix.Bits() < pairLength:
		e.Bytes(unix.IFA_BROADCAST, broadcast(a.Prefix))
	}
	info := make([]byte, cacheInfoBytes)
	binary.NativeEndian.PutUint32(info, uint32(lifetime/time.Second))     // preferred
	binary.NativeEndian.PutUint32(info[4:], uint32(lifetime/time.Second)) // valid
	e.Bytes(unix.IFA_CACHEINFO, info)
	attributes, err := e.Encode()
	if err != nil {
		return err
	}
	if _, err := call(unix.RTM_NEWADDR, netlink.Acknowledge|netlink.Create|netlink.Replace, append(header(a.Prefix, flags, link.Index), attributes...)); err != nil {
		return fmt.Errorf("add %v: %w", a, err)
	}
	return nil
}

// A Place is where the kernel has an address.
type Place struct {
	// Link is the interface by number, and Bits the length of the prefix.
	Link, Bits int
	// Forever says that it has no lifetime: a person configured it.
	Forever bool
}

// Interface names the interface.
func (p Place) Interface() string {
	if link, err := net.InterfaceByIndex(p.Link); err == nil {
		return link.Name
	}
	return fmt.Sprintf("interface %d", p.Link)
}

// Find returns where this host has the address, on whatever interface.
func (a Address) Find() ([]Place, error) {
	ip := a.Prefix.Addr()
	all, err := call(unix.RTM_GETADDR, netlink.Dump, header(netip.PrefixFrom(ip, 0), 0, 0))
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	var out []Place
	for _, m := range all {
		if got, place, ok := parsePlace(m.Data); ok && got == ip {
			out = append(out, place)
		}
	}
	return out, nil
}

// parsePlace reads an answer about an address.
func parsePlace(b []byte) (ip netip.Addr, p Place, ok bool) {
	if len(b) < headerBytes {
		return ip, p, false
	}
	d, err := netlink.NewAttributeDecoder(b[headerBytes:])
	if err != nil {
		return ip, p, false
	}
	p = Place{Link: int(binary.NativeEndian.Uint32(b[4:])), Bits: int(b[1]), Forever: b[2]&unix.IFA_F_PERMANENT != 0}
	for d.Next() {
		// Of a pair of hosts IFA_ADDRESS is the other one. Version 6 has IFA_LOCAL only for these.
		if t := d.Type(); t == unix.IFA_LOCAL || t == unix.IFA_ADDRESS && !ip.IsValid() {
			ip, ok = netip.AddrFromSlice(d.Bytes())
		}
	}
	return ip, p, ok && d.Err() == nil
}

// deletions is how often a deletion is repeated until the kernel does not list the address any more.
const deletions = 3

// Delete deletes the address from this host, on whatever interface it is. It returns nil only if the kernel did not list it afterwards.
func (a Address) Delete() error {
	var failure error
	for range deletions {
		places, err := a.Find()
		if err != nil {
			return err
		}
		if len(places) == 0 {
			return nil
		}
		for _, p := range places {
			failure = a.deleteFrom(p)
		}
		if failure != nil {
			break
		}
	}
	if places, err := a.Find(); err == nil && len(places) == 0 {
		return nil
	}
	if failure == nil {
		failure = errors.New("it is there again")
	}
	return fmt.Errorf("delete %v: %w", a, failure)
}

// deleteFrom deletes the address from one interface.
func (a Address) deleteFrom(p Place) error {
	prefix := netip.PrefixFrom(a.Prefix.Addr(), p.Bits)
	e := netlink.NewAttributeEncoder()
	e.Bytes(unix.IFA_LOCAL, prefix.Addr().AsSlice())
	e.Bytes(unix.IFA_ADDRESS, prefix.Addr().AsSlice())
	attributes, err := e.Encode()
	if err != nil {
		return err
	}
	_, err = call(unix.RTM_DELADDR, netlink.Acknowledge, append(header(prefix, 0, p.Link), attributes...))
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) { // it went meanwhile
		return nil
	}
	return err
}

// Supported says why addresses cannot move on this system; nil: they can.
var Supported error
