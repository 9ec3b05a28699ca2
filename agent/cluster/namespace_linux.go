package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/transport/relay"
)

// Addresses of hosts in namespaces. The range is one for tests of networks: no host uses it in earnest.
const (
	switchAddr = "198.18.0.1"
	prefix     = "/16"
	memberPort = 7400
	// firstPort is the first that free returns.
	firstPort = 8000
)

// namespaces are hosts that have a network of their own: a namespace each, with a pair of virtual interfaces to a bridge in another
// one, where the relay is too. Nothing is visible outside of them. They have no names: open files of this process and its children
// keep them, so that the kernel removes all of it when those have ended, however they did.
type namespaces struct {
	names []string
	hub   *os.File
	hosts map[string]*os.File
	mu    sync.Mutex
	ports map[string]int
}

// CanNamespaces returns why hosts cannot be namespaces here; nil if they can.
func CanNamespaces() error {
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("network namespaces: %w (install iproute2 and util-linux)", err)
		}
	}
	f, err := newNamespace()
	if err != nil {
		return fmt.Errorf("network namespaces: %w (run as root)", err)
	}
	return f.Close()
}

// newNamespace makes a network namespace that lives while the file is open, or a process is in it.
func newNamespace() (f *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			f, err = os.Open("/proc/thread-self/ns/net")
		}
	}()
	<-done
	return f, err
}

// within calls do on a thread that is in a namespace. Sockets that it opens and processes that it starts are in the namespace.
func within(ns *os.File, do func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err == nil {
			err = do()
		}
	}()
	<-done
	return err
}

// path names a namespace for tools.
func path(ns *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.Fd()) }

// ip runs the tool of that name in a namespace, with a command per line.
func ip(ns *os.File, lines ...string) error {
	return within(ns, func() error {
		c := exec.Command("ip", "-batch", "-")
		c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("ip: %w: %s (in %q)", err, out, lines)
		}
		return nil
	})
}

func newNamespaces(names []string) (_ hosts, err error) {
	if err := CanNamespaces(); err != nil {
		return nil, err
	}
	n := &namespaces{names: names, hosts: make(map[string]*os.File), ports: make(map[string]int)}
	defer func() {
		if err != nil {
			_ = n.close()
		}
	}()
	n.hub, err = newNamespace()
	if err != nil {
		return nil, err
	}
	lines := []string{"link set lo up", "link add hub type bridge", "addr add " + switchAddr + prefix + " dev hub", "link set hub up"}
	for i, name := range names {
		ns, err := newNamespace()
		if err != nil {
			return nil, err
		}
		n.hosts[name] = ns
		lines = append(lines, fmt.Sprintf("link add %s type veth peer name eth0 netns %s", cable(i), path(ns)),
			fmt.Sprintf("link set %s master hub up", cable(i)))
	}
	if err := ip(n.hub, lines...); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ip(n.hosts[name], "link set lo up", "addr add "+n.addr(name).Addr().String()+prefix+" dev eth0", "link set eth0 up"); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// cable is the interface of a host at the switch.
func cable(i int) string { return fmt.Sprintf("host%d", i) }

func (n *namespaces) index(name string) int {
	for i, x := range n.names {
		if x == name {
			return i
		}
	}
	return -1
}

func (n *namespaces) addr(name string) netip.AddrPort {
	i := n.index(name) + 2 // the switch is 1
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), memberPort)
}

func (n *namespaces) free(name string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports[name]++
	return fmt.Sprintf("127.0.0.1:%d", firstPort+n.ports[name]), nil
}

func (n *namespaces) relay(c relay.Config) (r *relay.Relay, err error) {
	c.Bind = netip.MustParseAddr(switchAddr)
	err = within(n.hub, func() error { r, err = relay.Start(c); return err })
	return r, err
}

func (n *namespaces) place(name string, c *exec.Cmd) error {
	ns := n.hosts[name]
	if ns == nil {
		return fmt.Errorf("no host %q", name)
	}
	return prepend(c, "nsenter", "--net="+path(ns), "--")
}

func (n *namespaces) dial(ctx context.Context, name, network, addr string) (conn net.Conn, err error) {
	ns := n.hosts[name]
	if ns == nil {
		return nil, fmt.Errorf("no host %q", name)
	}
	err = within(ns, func() error { conn, err = new(net.Dialer).DialContext(ctx, network, addr); return err })
	return conn, err
}

func (n *namespaces) plug(name string, in bool) error {
	state := "down"
	if in {
		state = "up"
	}
	return ip(n.hub, fmt.Sprintf("link set %s %s", cable(n.index(name)), state))
}

func (n *namespaces) close() error {
	var errs []error
	for _, f := range n.hosts {
		errs = append(errs, f.Close())
	}
	if n.hub != nil {
		errs = append(errs, n.hub.Close())
	}
	return errors.Join(errs...)
}
