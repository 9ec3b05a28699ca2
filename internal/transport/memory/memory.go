// Package memory is a network in memory, for tests: connections like those of package transport, and links that can be
// delayed, cut and the like while it runs. It waits on timers of package time only, so that a test in a bubble of
// testing/synctest runs on virtual time.
package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/fault"
)

// depth is how many datagrams a connection holds for a reader that is late; more are lost.
const depth = 1024

// A Network connects members by name. Each member has one address, and may have many connections on it, one after
// another.
type Network struct {
	links    *fault.Links
	schedule *fault.Schedule[delivery]

	mu    sync.Mutex
	rand  *rand.Rand
	conns []*Conn // by member; nil: nobody listens
	// turn is when the last datagram of a link arrives.
	turn [][]time.Time
	lost uint64
}

type delivery struct {
	from, to int
	packet   transport.Packet
}

// New returns a network of perfect links between members. What chance decides follows from the seed.
func New(seed uint64, names ...string) *Network {
	n := &Network{links: fault.NewLinks(names...), rand: rand.New(rand.NewPCG(seed, 0)), conns: make([]*Conn, len(names)),
		turn: make([][]time.Time, len(names))}
	for i := range n.turn {
		n.turn[i] = make([]time.Time, len(names))
	}
	n.schedule = fault.NewVirtual(n.deliver)
	return n
}

// Links is where links are changed.
func (n *Network) Links() *fault.Links { return n.links }

// Addr returns the address of the member at a place among the names.
func Addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7400)
}

// place is the inverse of Addr.
func (n *Network) place(a netip.AddrPort) (int, bool) {
	b := a.Addr().Unmap()
	if !b.Is4() {
		return 0, false
	}
	four := b.As4()
	i := int(four[2])<<8 | int(four[3])
	return i, i < len(n.conns) && Addr(i) == netip.AddrPortFrom(b, a.Port())
}

// Addr returns the address of a member.
func (n *Network) Addr(name string) (netip.AddrPort, error) {
	i, err := n.links.Index(name)
	return Addr(i), err
}

// Listen opens the connection of a member, which must not have one open.
func (n *Network) Listen(name string) (*Conn, error) {
	i, err := n.links.Index(name)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns[i] != nil {
		return nil, fmt.Errorf("listen as %s: in use", name)
	}
	c := &Conn{network: n, place: i, in: make(chan transport.Packet, depth), closed: make(chan struct{})}
	n.conns[i] = c
	return c, nil
}

// Lost returns how many datagrams found nobody, or no room.
func (n *Network) Lost() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// Close closes all connections and forgets what is under way.
func (n *Network) Close() {
	n.schedule.Stop()
	n.mu.Lock()
	conns := append([]*Conn(nil), n.conns...)
	n.mu.Unlock()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}

// send puts one datagram on its way.
func (n *Network) send(from int, p transport.Packet) error {
	to, ok := n.place(p.Addr)
	if !ok {
		return fmt.Errorf("send to %v: no such member", p.Addr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	turn := &n.turn[from][to]
	plan, next := n.links.Link(from, to).Plan(n.rand, max(0, turn.Sub(now)))
	*turn = now.Add(next)
	for _, d := range plan.Delays[:plan.Copies] {
		q := transport.Packet{Data: append([]byte(nil), p.Data...), Addr: Addr(from)}
		if d == 0 {
			n.arrive(to, q)
		} else {
			n.schedule.Add(now.Add(d), delivery{from, to, q})
		}
	}
	return nil
}

// deliver hands over what has waited long enough. A datagram whose link was cut meanwhile is lost.
func (n *Network) deliver(d delivery) {
	if n.links.Link(d.from, d.to).Cut {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.arrive(d.to, d.packet)
}

// arrive is called with the lock held.
func (n *Network) arrive(to int, p transport.Packet) {
	if c := n.conns[to]; c != nil {
		select {
		case c.in <- p:
			return
		default:
		}
	}
	n.lost++
}

// A Conn is a member's connection.
type Conn struct {
	network *Network
	place   int
	in      chan transport.Packet
	closed  chan struct{}
	once    sync.Once
}

var _ transport.Conn = (*Conn)(nil)

// LocalAddr returns the member's address.
func (c *Conn) LocalAddr() netip.AddrPort { return Addr(c.place) }

// Read waits until a datagram has come, and takes as many as are there.
func (c *Conn) Read(ps []transport.Packet) (int, error) {
	if len(ps) == 0 {
		return 0, nil
	}
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	default:
	}
	select {
	case p := <-c.in:
		put(&ps[0], p)
		n, err := c.TryRead(ps[1:])
		return n + 1, err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// TryRead takes what is there.
func (c *Conn) TryRead(ps []transport.Packet) (int, error) {
	for i := range ps {
		select {
		case p := <-c.in:
			put(&ps[i], p)
		default:
			return i, nil
		}
	}
	return len(ps), nil
}

// put copies p into the room that q has, and cuts it there, as a socket does.
func put(q *transport.Packet, p transport.Packet) {
	q.Data = q.Data[:min(len(p.Data), cap(q.Data))]
	copy(q.Data, p.Data)
	q.Addr = p.Addr
}

// Write sends datagrams.
func (c *Conn) Write(ps []transport.Packet) (int, error) {
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	default:
	}
	sent := 0
	var errs []error
	for _, p := range ps {
		if err := c.network.send(c.place, p); err != nil {
			errs = append(errs, err)
		} else {
			sent++
		}
	}
	return sent, errors.Join(errs...)
}

// Close makes room for another connection of the member.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.network.mu.Lock()
		defer c.network.mu.Unlock()
		if c.network.conns[c.place] == c {
			c.network.conns[c.place] = nil
		}
	})
	return nil
}
