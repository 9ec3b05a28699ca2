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

// block is how many ports a process takes at a time. It listens on the first of them as long as it lives, and gives the others: so
// two processes never give the same port, not even while nobody listens on it because its owner is being restarted.
const block = 64

// tries is how many blocks are looked at before it is given up.
const tries = 1000

var given struct {
	sync.Mutex
	// next is the port to give next, and end the one after the last of the block.
	next, end int
	// blocks are the listeners that keep other processes out.
	blocks []net.Listener
}

// Free returns an address on which nobody listens, neither for packets nor for connections, and which no living process was
// given before.
func Free() (string, error) {
	given.Lock()
	defer given.Unlock()
	for {
		for given.next < given.end {
			addr := address(given.next)
			given.next++
			if free(addr) == nil {
				return addr, nil
			}
		}
		if err := takeBlock(); err != nil {
			return "", err
		}
	}
}

// takeBlock finds a block that no process has, and keeps it.
func takeBlock() error {
	var why error
	for range tries {
		port := first + block*rand.N((last-first)/block)
		l, err := net.Listen("tcp4", address(port))
		if err == nil {
			given.blocks = append(given.blocks, l)
			given.next, given.end = port+1, port+block
			return nil
		}
		why = err
	}
	return fmt.Errorf("no free port on 127.0.0.1 in %d blocks of %d that were tried: %w", tries, block, why)
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

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
