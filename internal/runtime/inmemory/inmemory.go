// Package inmemory makes worlds on a network in memory: for tests, also inside a bubble of testing/synctest.
package inmemory

import (
	"context"
	"net/netip"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/memory"
)

const (
	// depth is how many packets wait for the loop.
	depth = 256
	// mtu is the length of the longest packet.
	mtu = 2000
)

// World returns the world of a member of a network. Hosts have the names of their members, and resolve to their addresses.
func World(n *memory.Network, name string) world.World {
	return world.World{
		Clock: clock.Package(),
		Listen: func(netip.AddrPort) (runtime.Socket, runtime.Waiter, error) {
			c, err := n.Listen(name)
			if err != nil {
				return nil, nil, err
			}
			w := runtime.NewChanWaiter()
			return transport.NewPump(c, depth, mtu, w.Wake), w, nil
		},
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			addr, err := n.Addr(host)
			if err != nil {
				return nil, err
			}
			return []netip.Addr{addr.Addr()}, nil
		},
	}
}
