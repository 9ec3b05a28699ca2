// Package pipe puts what a real member has between its machine and the network, the datagram layer and the codec, between
// simulated machines and simulated links. It makes the ports of a sim.World.
//
//	pipe.go    stamps, probes and what expires; the datagram layer judges packets as for real members
//	plain.go   packets that only the simulator can read, for messages that no codec knows
//	sealed.go  packets as on a real wire
package pipe

import (
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Config is how the ports of one world behave.
type Config struct {
	// Rho, Delta, MinDelay and MaxAge are the datagram layer's.
	Rho              protocol.Rho
	Delta            time.Duration
	MinDelay, MaxAge time.Duration
	// Expire, if not nil, says for each message within what time it must be proven to have come, or is not delivered; zero
	// for one that never expires.
	Expire func(protocol.Message) time.Duration
	// Outdated, if not nil, makes what a machine gets in place of a packet from an outdated start of a peer.
	Outdated func() protocol.Message
	// Died, if not nil, makes what a machine gets for the report of a guardian.
	Died func(*obituary.Report) protocol.Message
}

// A codec turns datagrams into packets and back. It belongs to one port.
type codec interface {
	// encode puts packets that carry the message, or none if m is nil, calling stamp for the header of each.
	encode(m protocol.Message, stamp func() datagram.Header, put func(packet []byte))
	// start makes the judge of packets, for a member that starts at now.
	start(now protocol.Time, c datagram.Config) (*datagram.Endpoint, error)
	// decode judges a packet. It returns the sender and its message, if it has one that may be delivered; both are valid until the
	// next call.
	decode(now protocol.Time, packet []byte) (v datagram.Verdict, from protocol.Ident, m protocol.Message)
	// rekey puts keys in force, and revoked says that a member has none here.
	rekey(k *sim.Keys)
	revoked(r protocol.Rank) bool
	// restart makes the judge that of another start.
	restart(now protocol.Time, start datagram.Start)
	// incarnation says that the member knows its incarnation now.
	incarnation(inc protocol.Inc)
	// obituary returns a packet that says that the member is dead; nil if there is none.
	obituary(to protocol.Rank, r *obituary.Report) []byte
	// died returns what the packet that was decoded last reports; nil if it is no report that counts.
	died() *obituary.Report
}

// port is a sim.Port.
type port struct {
	config Config
	self   protocol.Ident
	n      int
	end    *datagram.Endpoint
	codec  codec
	put    func(to protocol.Rank, packet []byte)
	keys   sim.Keys
	latest protocol.Time // that the port was called with; a message held for the disk comes with an earlier one
}

func newPort(c Config, b sim.Boot, put func(to protocol.Rank, packet []byte), k codec) *port {
	return &port{config: c, self: protocol.Ident{Rank: b.Self, Inc: b.Inc}, n: b.Members, codec: k, put: put}
}

// open takes note of the time, and makes the endpoint when it is first known.
func (p *port) open(now protocol.Time) {
	if p.end != nil {
		p.latest = max(p.latest, now)
		return
	}
	p.latest = now
	end, err := p.codec.start(now, datagram.Config{Self: p.self, Members: p.n, Rho: p.config.Rho, Delta: p.config.Delta,
		MinDelay: p.config.MinDelay, MaxAge: p.config.MaxAge})
	if err != nil {
		panic("pipe: " + err.Error())
	}
	p.end = end
	if p.keys.Own != nil {
		p.codec.rekey(&p.keys)
	}
}

// Send stamps a message and puts it on the wire.
func (p *port) Send(now protocol.Time, from protocol.Ident, to protocol.Rank, m protocol.Message) {
	p.open(now)
	if from.Inc != p.self.Inc {
		p.self.Inc = from.Inc
		p.codec.incarnation(from.Inc)
	}
	p.send(now, to, m)
}

// send puts what was sent in the Step at sent.
func (p *port) send(sent protocol.Time, to protocol.Rank, m protocol.Message) {
	if p.codec.revoked(to) {
		p.end.Stamp(p.latest, sent, to) // no probe is due any more
		return
	}
	p.codec.encode(m, func() datagram.Header { return p.end.Stamp(p.latest, sent, to) }, func(packet []byte) { p.put(to, packet) })
}

// Receive judges a packet, and fills in its message if it may be delivered.
func (p *port) Receive(now protocol.Time, _ protocol.Rank, packet []byte, to *protocol.Receive) bool {
	p.open(now)
	v, from, m := p.codec.decode(now, packet)
	if (v.Reason == datagram.Stale || v.Reason == datagram.Twin) && p.config.Outdated != nil {
		*to = protocol.Receive{From: from, Message: p.config.Outdated(), Delay: protocol.Unknown}
		return true
	}
	if v.Reason == datagram.Obituary && p.config.Died != nil {
		*to = protocol.Receive{From: from, Message: p.config.Died(p.codec.died()), Delay: protocol.Unknown}
		return true
	}
	if m == nil {
		return false
	}
	if p.config.Expire != nil {
		if limit := p.config.Expire(m); limit > 0 && !v.By(limit) {
			return false
		}
	}
	*to = protocol.Receive{From: from, Message: m, Delay: v.Delay}
	return true
}

// Tick sends the probes that are due.
func (p *port) Tick(now protocol.Time) {
	p.open(now)
	for _, r := range p.end.Probes(now) {
		p.send(now, r, nil)
	}
}

// Rekey puts keys in force.
func (p *port) Rekey(k *sim.Keys) {
	p.keys = sim.Keys{Own: slices.Clone(k.Own), Lists: slices.Clone(k.Lists)}
	if p.end != nil {
		p.codec.rekey(&p.keys)
	}
}

// Restart makes the port that of another start.
func (p *port) Restart(now protocol.Time, start protocol.StartBits) {
	p.self.Inc, p.latest = 0, now
	if p.end != nil {
		p.codec.restart(now, datagram.Start(start))
	}
}

// Wake returns when the next probes are due.
func (p *port) Wake() protocol.Time {
	if p.end == nil {
		return math.MinInt64
	}
	return p.end.Wake()
}

// Obituary implements sim.Mourner.
func (p *port) Obituary(to protocol.Rank, r *obituary.Report) []byte {
	if p.end == nil {
		return nil
	}
	return p.codec.obituary(to, r)
}
