// Package relay stands between the members of a council, real processes on real sockets, and makes the network between
// them as bad as a test or a demonstration wants it: delays, losses, duplicates, disorder and cuts, for each direction
// of each pair, changed while it runs.
//
// The relay listens on one port for each member. That port is the address of the member for all others, as a council has agreed on it. The
// relay knows the receiver of a datagram by the port that it came to, and the sender by the address that it came from. It sends on to the real
// address of the receiver from the port of the sender: what the receiver answers to the source of a datagram goes through the relay, too. What
// comes from elsewhere is lost.
//
//	relay.go    sockets and forwarding
//	control.go  the same links from another process, line by line
package relay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/fault"
)

// DefaultLimit is how many datagrams of one pair may be under way.
const DefaultLimit = 4096

// A Member is one end of the relay's pairs.
type Member struct {
	Name string
	// Addr is where the member really listens. SetAddr can change it.
	Addr netip.AddrPort
}

// Config is what a relay is made of.
type Config struct {
	Members []Member
	// Bind is the address that the relay listens on; the zero value is 127.0.0.1.
	Bind netip.Addr
	// Limit is how many datagrams of one pair may be under way; more are lost. 0 is DefaultLimit.
	Limit int
	// Seed decides what chance decides, as far as the order in which datagrams come is the same.
	Seed uint64
}

// A Relay forwards datagrams until it is closed.
type Relay struct {
	links    *fault.Links
	ports    []*port
	pairs    [][]*pair // from, to; nil on the diagonal
	targets  []atomic.Pointer[netip.AddrPort]
	schedule *fault.Schedule[*packet]
	limit    int64
	done     sync.WaitGroup
}

// port is where the others reach a member.
type port struct {
	relay  *Relay
	member int
	conn   transport.Conn

	out sync.Mutex // one writer at a time
	one [1]transport.Packet
}

// pair is one direction between two members.
type pair struct {
	relay    *Relay
	from, to int
	rand     *rand.Rand
	// turn is when the last datagram leaves.
	turn time.Time
	stats
	waiting atomic.Int64
}

type stats struct{ received, forwarded, lost, overflowed atomic.Uint64 }

// Stats counts the datagrams of a pair.
type Stats struct {
	Received, Forwarded uint64
	Lost                uint64 // by loss or a cut, as asked for
	Overflowed          uint64 // for want of room
	Waiting             int64
}

// packet is a datagram under way.
type packet struct {
	pair *pair
	data []byte
}

var packets = sync.Pool{New: func() any { return new(packet) }}

// Start opens a relay with perfect links.
func Start(c Config) (*Relay, error) {
	if !c.Bind.IsValid() {
		c.Bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit
	}
	names := make([]string, len(c.Members))
	for i, m := range c.Members {
		names[i] = m.Name
	}
	r := &Relay{links: fault.NewLinks(names...), targets: make([]atomic.Pointer[netip.AddrPort], len(names)), limit: int64(c.Limit)}
	for i, m := range c.Members {
		if j, _ := r.links.Index(m.Name); j != i {
			return nil, fmt.Errorf("relay: member %q: is there twice", m.Name)
		}
		r.targets[i].Store(&m.Addr)
	}
	r.schedule = fault.NewSchedule(r.deliver)
	for i := range names {
		conn, err := transport.Listen(netip.AddrPortFrom(c.Bind, 0))
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("relay: to %s: %w", names[i], err)
		}
		r.ports = append(r.ports, &port{relay: r, member: i, conn: conn})
		row := make([]*pair, len(names))
		for j := range names {
			if i != j {
				row[j] = &pair{relay: r, from: i, to: j, rand: rand.New(rand.NewPCG(c.Seed, uint64(i)<<32|uint64(j)))}
			}
		}
		r.pairs = append(r.pairs, row)
	}
	for _, p := range r.ports {
		r.done.Go(p.run) // all ports are open: a datagram leaves from that of its sender
	}
	return r, nil
}

// Links is where links are changed.
func (r *Relay) Links() *fault.Links { return r.links }

// pair finds a pair by its names.
func (r *Relay) pair(from, to string) (*pair, error) {
	i, err := r.links.Index(from)
	if err != nil {
		return nil, err
	}
	j, err := r.links.Index(to)
	if err != nil {
		return nil, err
	}
	if i == j {
		return nil, fmt.Errorf("from %s to %s: no member talks to itself through a relay", from, to)
	}
	return r.pairs[i][j], nil
}

// Addr returns the address that the others must use for a member.
func (r *Relay) Addr(name string) (netip.AddrPort, error) {
	i, err := r.links.Index(name)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return r.ports[i].conn.LocalAddr(), nil
}

// SetAddr says where a member listens now.
func (r *Relay) SetAddr(name string, addr netip.AddrPort) error {
	i, err := r.links.Index(name)
	if err != nil {
		return err
	}
	r.targets[i].Store(&addr)
	return nil
}

// Stats returns what happened to the datagrams of a pair.
func (r *Relay) Stats(from, to string) (Stats, error) {
	p, err := r.pair(from, to)
	if err != nil {
		return Stats{}, err
	}
	return Stats{p.received.Load(), p.forwarded.Load(), p.lost.Load(), p.overflowed.Load(), p.waiting.Load()}, nil
}

// Close stops forwarding. What is under way is lost.
func (r *Relay) Close() error {
	var errs []error
	for _, p := range r.ports {
		errs = append(errs, p.conn.Close())
	}
	r.schedule.Stop()
	r.done.Wait()
	return errors.Join(errs...)
}

// run takes in the datagrams to a member.
func (p *port) run() {
	in := transport.NewPackets(16)
	for {
		n, err := p.conn.Read(in)
		if err != nil {
			return // closed
		}
		for i := range in[:n] {
			if from := p.relay.sender(in[i].Addr); from >= 0 && from != p.member {
				p.relay.pairs[from][p.member].take(in[i].Data)
			}
		}
	}
}

// sender returns the member at an address; -1 if there is none.
func (r *Relay) sender(addr netip.AddrPort) int {
	for i := range r.targets {
		if *r.targets[i].Load() == addr {
			return i
		}
	}
	return -1
}

// take decides over one datagram. Only the reader of the receiver's port calls it.
func (p *pair) take(data []byte) {
	p.received.Add(1)
	link := p.relay.links.Link(p.from, p.to)
	now := time.Now()
	plan, next := link.Plan(p.rand, max(0, p.turn.Sub(now)))
	p.turn = now.Add(next)
	if plan.Copies == 0 {
		p.lost.Add(1)
	}
	for _, d := range plan.Delays[:plan.Copies] {
		if d == 0 {
			p.forward(data)
			continue
		}
		if p.waiting.Add(1) > p.relay.limit {
			p.waiting.Add(-1)
			p.overflowed.Add(1)
			continue
		}
		x := packets.Get().(*packet)
		x.pair, x.data = p, append(x.data[:0], data...)
		p.relay.schedule.Add(now.Add(d), x)
	}
}

// deliver sends a datagram on that has waited long enough. One whose link was cut meanwhile is lost.
func (r *Relay) deliver(x *packet) {
	p := x.pair
	p.waiting.Add(-1)
	if r.links.Link(p.from, p.to).Cut {
		p.lost.Add(1)
	} else {
		p.forward(x.data)
	}
	packets.Put(x)
}

// forward sends a datagram on, from the port of its sender.
func (p *pair) forward(data []byte) {
	from := p.relay.ports[p.from]
	from.out.Lock()
	defer from.out.Unlock()
	from.one[0] = transport.Packet{Data: data, Addr: *p.relay.targets[p.to].Load()}
	// An error is a loss, as on any network: perhaps nobody listens there now.
	if n, _ := from.conn.Write(from.one[:]); n == 1 {
		p.forwarded.Add(1)
	} else {
		p.lost.Add(1)
	}
}
