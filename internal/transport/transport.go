// Package transport carries datagrams between members: UDP here, and a network in memory in its sibling memory. Package
// relay stands between real processes and makes the network between them as bad as a test wants it.
//
//	transport.go         what a connection is
//	udp.go               UDP over IPv4 and IPv6
//	udp_linux.go         many datagrams in one system call
//	udp_other.go         one at a time
//	pump.go              a reader for loops that must not wait
//
// A datagram goes to the addresses that its sender was configured with, never to where another one came from: the
// source of a datagram is for logs only. Anybody can write it.
package transport

import "net/netip"

// MaxDatagram is as long as a datagram can be.
const MaxDatagram = 1<<16 - 1

// A Packet is a datagram and its other end: where it came from, or where it goes.
type Packet struct {
	Data []byte
	Addr netip.AddrPort
}

// NewPackets returns packets to read into, with room for any datagram each. The room is reserved, but costs memory only
// where it is used.
func NewPackets(n int) []Packet {
	slab := make([]byte, n*MaxDatagram)
	ps := make([]Packet, n)
	for i := range ps {
		ps[i].Data = slab[i*MaxDatagram : i*MaxDatagram : (i+1)*MaxDatagram]
	}
	return ps
}

// A Conn sends and receives datagrams. One goroutine may read while another writes.
type Conn interface {
	// Read waits until a datagram has come and takes as many as are there and fit. It fills the capacity of each Data and
	// sets its length. The clock is read after it: so a receive stamp is never too early.
	Read(ps []Packet) (int, error)
	// Write sends datagrams and returns how many went out. Those that could not be sent are lost, as any datagram may be;
	// the error is that of the first. It does not wait.
	Write(ps []Packet) (int, error)
	LocalAddr() netip.AddrPort
	// Close makes Read return net.ErrClosed.
	Close() error
}

// A TryReader can be read without waiting.
type TryReader interface {
	// TryRead is Read, but returns 0 if nothing is there.
	TryRead(ps []Packet) (int, error)
}

// A Pollable connection has a file descriptor that becomes readable when a datagram comes.
type Pollable interface {
	Conn
	TryReader
	Descriptor() int
}
