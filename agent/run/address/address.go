// Package address holds addresses of an interface for the leader of a group: it has the calls of the kernel, and the process that makes them.
//
//	address.go        what an address is, and how it is written
//	kernel_linux.go   adding, refreshing, finding and deleting, over netlink
//	packet_linux.go   telling neighbours who has the address, and asking whether another host has it
//	hold.go           the process that holds addresses: it drives machines of internal/tenure/address
//	other.go          other systems
//
// [Hold] is the only thing that adds an address. It runs in a process of its own, the first one of the tree of a runner (agent/run/tree), so that
// the process that ends the tree kills it first, and then deletes the address: after that no process adds it again.
package address

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// An Address is one that moves with a leadership, with the length of its network's prefix and the interface that it is added to.
type Address struct {
	Prefix    netip.Prefix
	Interface string
}

// String writes the address as Parse reads it.
func (a Address) String() string { return a.Prefix.String() + "@" + a.Interface }

// longestName is how long names of interfaces are at most.
const longestName = 15

// Parse reads an address such as 10.0.0.9/24@eth0.
func Parse(text string) (Address, error) {
	where, name, _ := strings.Cut(text, "@")
	prefix, err := netip.ParsePrefix(where)
	ip := prefix.Addr()
	switch {
	case name == "" || len(name) > longestName || strings.ContainsAny(name, "/ \t"):
		return Address{}, fmt.Errorf("%q: no interface: write ADDRESS/LENGTH@INTERFACE, such as 10.0.0.9/24@eth0", text)
	case err != nil:
		return Address{}, fmt.Errorf("%q: write ADDRESS/LENGTH@INTERFACE, such as 10.0.0.9/24@eth0", text)
	case ip.Is4In6():
		return Address{}, fmt.Errorf("%q: write the address of version 4 as such", text)
	case ip.IsUnspecified() || ip.IsMulticast() || ip.IsLoopback() || prefix.Bits() == 0:
		return Address{}, fmt.Errorf("%q: must be the address of a host", text)
	}
	return Address{Prefix: prefix, Interface: name}, nil
}

// ParseAll reads addresses. None may be there twice.
func ParseAll(texts []string) ([]Address, error) {
	var out []Address
	seen := make(map[netip.Addr]bool)
	for _, text := range texts {
		a, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if seen[a.Prefix.Addr()] {
			return nil, fmt.Errorf("%q: is there twice", text)
		}
		seen[a.Prefix.Addr()] = true
		out = append(out, a)
	}
	return out, nil
}

// ProcessName is what a process calls itself that holds addresses. Its other arguments are the addresses.
const ProcessName = "regent-address"

// Drop deletes addresses of this host, as they are written, except those that newer names: a process of a later leadership on this host holds them. It returns how
// many the kernel still has, and the first error.
func Drop(texts []string, newer func(Address) bool) (left int, err error) {
	for _, text := range texts {
		a, failure := Parse(text)
		if failure == nil {
			failure = a.leave(newer)
		}
		if failure != nil {
			left++
			err = cmp.Or(err, failure)
		}
	}
	return left, err
}

// leave deletes the address unless it is that of a later leadership. The look for that takes a while, and most addresses are gone by then.
func (a Address) leave(newer func(Address) bool) error {
	if places, err := a.Find(); err == nil && (len(places) == 0 || newer(a)) {
		return nil
	}
	return a.Delete()
}

// OnHost says why this host cannot get the address: there is no such interface, or it has the address without a lifetime. An address with
// a lifetime is what an earlier leadership has left.
func (a Address) OnHost() error {
	if _, err := a.link(); err != nil {
		return err
	}
	places, err := a.Find()
	if err != nil {
		return err
	}
	for _, p := range places {
		if p.Forever {
			return fmt.Errorf("%v: this host has the address already, on %s, without a lifetime: remove it there (ip address del %v dev %s), and from what configures it at boot", a, p.Interface(), a.Prefix, p.Interface())
		}
	}
	return nil
}

// link returns the interface of the address.
func (a Address) link() (*net.Interface, error) {
	link, err := net.InterfaceByName(a.Interface)
	if err != nil {
		return nil, fmt.Errorf("%v: no interface %q on this host", a, a.Interface)
	}
	return link, nil
}
