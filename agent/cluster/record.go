package cluster

import "net/netip"

// A Recorded is a datagram that was seen on the network.
type Recorded struct {
	From, To netip.AddrPort
	Data     []byte
}
