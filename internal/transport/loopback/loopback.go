// Package loopback finds addresses of this host for processes that are about to be started.
//
// A port that the kernel has given and taken back is one that it gives to the next who asks for any: another process of the
// same cluster, a relay, a client. The ports here lie below those that kernels give by themselves, so that only who means them
// takes them.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports that are given, the last one excluded. Linux gives others from 32768 by itself, other systems from 49152.
const (
	first = 10000
	last  = 32768
)

// tries is how many ports are looked at before it is given up.
const tries = 1000

var given struct {
	sync.Mutex
	ports map[int]bool
}

// Free returns an address on which nobody listens, neither for packets nor for connections, and which this process was not
// given before.
func Free() (string, error) {
	given.Lock()
	defer given.Unlock()
	var why error
	for range tries {
		port := first + rand.N(last-first)
		if given.ports[port] {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if why = free(addr); why != nil {
			continue
		}
		if given.ports == nil {
			given.ports = make(map[int]bool)
		}
		given.ports[port] = true
		return addr, nil
	}
	return "", fmt.Errorf("no free port on 127.0.0.1 among %d that were tried: %w", tries, why)
}

// free says why an address cannot be listened on.
func free(addr string) error {
	packets, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return err
	}
	connections, err := net.Listen("tcp4", addr)
	if err == nil {
		err = connections.Close()
	}
	return errors.Join(err, packets.Close())
}
