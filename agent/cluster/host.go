package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/regentproject/regent/internal/transport/loopback"
	"github.com/regentproject/regent/internal/transport/relay"
)

// Hosts is the kind of the hosts of a cluster.
type Hosts int

const (
	// Loopback has all processes on this host, on ports of 127.0.0.1.
	Loopback Hosts = iota
	// Namespaces gives each name a network namespace of its own, with one cable to a switch. It needs Linux and root; see
	// CanNamespaces.
	Namespaces
	// Memory has no processes: members live in this one, on a network in memory, also inside a bubble of testing/synctest.
	Memory
)

// hosts is where processes run.
type hosts interface {
	// addr returns the address on which the member of a host listens.
	addr(name string) netip.AddrPort
	// free returns an address of a host that is not in use.
	free(name string) (string, error)
	// start opens the relay where all hosts reach it.
	relay(relay.Config) (*relay.Relay, error)
	// place makes a command run on a host.
	place(name string, c *exec.Cmd) error
	// dial connects to an address of a host.
	dial(ctx context.Context, name, network, addr string) (net.Conn, error)
	// plug connects the cable of a host, or pulls it out.
	plug(name string, in bool) error
	close() error
}

// loopbackHosts are all this host.
type loopbackHosts map[string]netip.AddrPort

func newLoopback(names []string) (hosts, error) {
	h := make(loopbackHosts)
	for _, name := range names {
		addr, err := loopback.Free()
		if err != nil {
			return nil, err
		}
		h[name] = netip.MustParseAddrPort(addr)
	}
	return h, nil
}

func (h loopbackHosts) addr(name string) netip.AddrPort            { return h[name] }
func (h loopbackHosts) free(string) (string, error)                { return loopback.Free() }
func (h loopbackHosts) relay(c relay.Config) (*relay.Relay, error) { return relay.Start(c) }
func (h loopbackHosts) place(string, *exec.Cmd) error              { return nil }
func (h loopbackHosts) close() error                               { return nil }
func (h loopbackHosts) plug(string, bool) error {
	return errors.New("hosts on loopback have no cable: cut their links")
}
func (h loopbackHosts) dial(ctx context.Context, _, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// prepend puts words in front of a command.
func prepend(c *exec.Cmd, words ...string) error {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	if c.Err != nil {
		return c.Err
	}
	var args []string
	if len(c.Args) > 0 {
		args = c.Args[1:]
	}
	c.Args = slices.Concat(words, []string{c.Path}, args)
	c.Path = path
	return nil
}

// shift makes a command run in a time namespace whose clocks are ahead of the host, or behind it. It stays one process.
func shift(c *exec.Cmd, by time.Duration) error {
	if by%time.Second != 0 {
		return fmt.Errorf("clock offset %v: must be whole seconds", by)
	}
	seconds := strconv.FormatInt(int64(by/time.Second), 10)
	return prepend(c, "unshare", "--time", "--monotonic", seconds, "--boottime", seconds, "--")
}

// CanClocks returns why processes cannot have clocks of their own; nil if they can.
func CanClocks() error {
	c := exec.Command("true")
	if err := shift(c, time.Second); err != nil {
		return fmt.Errorf("time namespaces: %w", err)
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("time namespaces: %w: %s", err, out)
	}
	return nil
}
