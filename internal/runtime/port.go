package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/datagram/path"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// A Socket is a connection that can be read without waiting.
type Socket interface {
	transport.Conn
	transport.TryReader
}

// PortOptions is what a port consists of.
type PortOptions struct {
	Self   protocol.Rank
	Socket Socket
	Wire   *wire.Endpoint
	// Founder tells members that have lost it the id of the council; nil: nobody does.
	Founder *Founder
	// Herald asks for the configuration of the council, and tells it; nil: nobody does.
	Herald *Herald
	// Rates compares the clocks, if it is set.
	Rates *clock.Rates
	// Names and Addrs are of the members, by rank.
	Names []string
	Addrs [][]netip.AddrPort
	// Summary is the member's configuration, shown to peers that seem to have another.
	Summary *wire.Summary
	// Outdated makes what the machine of the council gets in place of a packet from an outdated start of a peer; nil: nothing.
	Outdated func() protocol.Message
	// Numbered, if it is set, is called before a packet leaves, with its number. Rekeyed, if it is set, is called when the start, the incarnation, the keys, the
	// addresses or the configuration have changed, under which packets leave. Neither may wait.
	Numbered func(to protocol.Rank, number uint64)
	Rekeyed  func()
	// Died makes what the machine of the council gets for the report of a guardian that a peer is dead; nil: nothing.
	Died func(*obituary.Report) protocol.Message
	// Recent is for how long a proof counts that packets to a peer come by one of its addresses.
	Recent time.Duration
	// Nap is how long packets may wait for others during a flood. It must be short beside a round trip.
	Nap time.Duration
	// Gather is how long the answers to mere renewals may wait for one another. It must be short beside a round trip.
	Gather time.Duration
	Clock  func() protocol.Time
	Log    *slog.Logger
}

// A NetPort is the Port over a real or imagined network: it packs messages into packets, seals and opens them, and bounds
// their delays.
type NetPort struct {
	PortOptions
	peers  []outbox
	owners map[netip.AddrPort]protocol.Rank // whose address is which
	in     []transport.Packet
	packet wire.Packet
	// out are the packets of one Flush; their buffers are used again.
	out         []transport.Packet
	receive     protocol.Receive
	traffic     Traffic
	diagnostics diagnostics
	flood       floodGuard
}

// An outbox is what is on its way to one peer.
type outbox struct {
	batch *wire.Batch
	// patient says that nobody waits for the answers to what is in the batch.
	patient bool
	// since is the instant of the earliest Step of which a message is in the batch.
	since protocol.Time
	// shown is when the summary was last sent to a peer that has not been heard, or has another configuration; zero:
	// never.
	shown   protocol.Time
	differs bool
	// choice is by which address it is reached, and tally by which of ours it reaches us.
	choice path.Choice
	tally  path.Tally
	heard  path.Heard
	// source is where the last packet came from that passed.
	source netip.AddrPort
}

// Traffic counts what went through a port. It may be read at any time.
type Traffic struct {
	PacketsIn, PacketsOut, BytesIn, BytesOut atomic.Uint64
	// Unsent packets could not be handed to the network.
	Unsent atomic.Uint64
}

// inBatch is how many packets are taken before the loop looks at its timers.
const inBatch = 32

// NewPort returns a port.
func NewPort(o PortOptions) *NetPort {
	p := &NetPort{PortOptions: o, peers: make([]outbox, len(o.Names)), owners: make(map[netip.AddrPort]protocol.Rank), in: transport.NewPackets(inBatch)}
	for r, addrs := range o.Addrs {
		p.own(protocol.Rank(r), addrs)
	}
	for i := range p.peers {
		p.peers[i].batch = o.Wire.NewBatch()
	}
	if p.Herald != nil {
		p.Herald.Asked = p.asked
	}
	p.diagnostics = newDiagnostics(o.Names, o.Log)
	p.flood = floodGuard{gate: o.Wire.Gate, longest: o.Wire.Gate(wire.Chances{}, 0).Longest, nap: o.Nap, thread: osThread{}}
	p.flood.socket, _ = o.Socket.(transport.Filterer)
	return p
}

// Receive opens one batch of packets.
func (p *NetPort) Receive(deliver Deliver) bool {
	n, err := p.Socket.TryRead(p.in)
	if err != nil {
		p.diagnostics.network(err)
		return false
	}
	for i := range p.in[:n] {
		p.traffic.PacketsIn.Add(1)
		p.traffic.BytesIn.Add(uint64(len(p.in[i].Data)))
		if len(p.in[i].Data) > p.flood.longest {
			p.Wire.Count(datagram.Short) // to decrypt it would cost the most
			p.flood.count(false)
			continue
		}
		p.take(&p.in[i], deliver)
	}
	full := n == len(p.in)
	p.guard(full)
	return full
}

// take judges a packet, and delivers its messages if it passes.
func (p *NetPort) take(in *transport.Packet, deliver Deliver) {
	now := p.Clock()
	if p.Founder != nil && wire.IsFounding(in.Data) {
		p.flood.count(false) // there are few of them, and a recorded one opens again
		r := p.Founder.Take(now, in.Data)
		p.Wire.Count(r)
		if r.Dropped() {
			p.diagnostics.stranger(r, in.Addr)
		}
		return
	}
	if p.Herald != nil && wire.IsFetch(in.Data) {
		p.herald(now, in, deliver)
		return
	}
	v := p.Wire.Open(now, in.Data, &p.packet)
	if v.Reason != datagram.Accepted {
		p.flood.count(p.Wire.Knows(&p.packet.Header))
	} else if p.Wire.Overtakes(&p.packet.Header) {
		p.flood.overtaken = true
	}
	switch v.Reason {
	case datagram.Accepted, datagram.OtherIncarnation:
		p.note(now, v)
	case datagram.Rivals:
		p.diagnostics.rivals(p.packet.From.Rank, in.Addr)
		return
	case datagram.Stale, datagram.Twin:
		p.outdated(now, deliver)
		return
	case datagram.Introduction, datagram.Unheard: // the guardian of a start before the present one
		return
	case datagram.Obituary:
		p.died(now, deliver)
		return
	case datagram.Mismatch:
		p.mismatch(now, in.Addr)
		return
	default:
		p.diagnostics.stranger(v.Reason, in.Addr)
		if r, ok := p.owners[in.Addr]; ok {
			p.diagnostics.dropped(r, v.Reason, &p.packet)
		}
		return
	}
	p.receive.From, p.receive.Delay = p.packet.From, v.Delay
	from := &p.peers[p.packet.From.Rank]
	from.source = in.Addr
	if p.Wire.Fast(v.Delay) {
		from.tally.Note(p.packet.Path, p.packet.Sent, v.Delay)
	}
	for i := range p.packet.Messages {
		m := &p.packet.Messages[i]
		if h, ok := m.Message.(*path.Heard); ok {
			from.choice.Prove(h)
			continue
		}
		p.receive.Message = m.Message
		deliver(now, Channel(m.Channel), &p.receive)
	}
	p.receive.Message = nil
}

// herald takes a question for the configuration, or an answer.
func (p *NetPort) herald(now protocol.Time, in *transport.Packet, deliver Deliver) {
	p.flood.count(false) // there are few of them, and a recorded one opens again
	chosen, r := p.Herald.Take(now, in.Data, in.Addr)
	p.Wire.Count(r)
	if r.Dropped() {
		p.diagnostics.stranger(r, in.Addr)
		if owner, ok := p.owners[in.Addr]; ok {
			p.diagnostics.dropped(owner, r, &wire.Packet{})
		}
	}
	if chosen != nil {
		// It is of no member in particular: what counts is that a member has said it.
		deliver(now, Council, &protocol.Receive{From: protocol.Ident{Rank: p.Self}, Message: chosen, Delay: protocol.Unknown})
	}
}

// mismatch takes note of a packet under another configuration, unless it names a revoked member as its sender.
func (p *NetPort) mismatch(now protocol.Time, from netip.AddrPort) {
	if s := p.packet.Summary; s != nil {
		if r := slices.Index(p.Names, s.Member); r >= 0 && p.Wire.Revoked(protocol.Rank(r)) {
			return
		}
	}
	if r, ok := p.diagnostics.mismatch(now, p.Summary, &p.packet, from); ok {
		p.peers[r].differs = true // it learns from our summary what differs, too
	}
}

// died passes the report of a guardian on to the machine.
func (p *NetPort) died(now protocol.Time, deliver Deliver) {
	if p.Died == nil {
		return
	}
	p.receive = protocol.Receive{From: p.packet.From, Message: p.Died(p.packet.Died), Delay: protocol.Unknown}
	deliver(now, Council, &p.receive)
	p.receive.Message = nil
}

// outdated lets the machine answer a packet that was dropped because its sender has a later life.
func (p *NetPort) outdated(now protocol.Time, deliver Deliver) {
	if p.Outdated == nil {
		return
	}
	p.receive = protocol.Receive{From: p.packet.From, Message: p.Outdated(), Delay: protocol.Unknown}
	deliver(now, Council, &p.receive)
	p.receive.Message = nil
}

// note takes note of a packet that passed.
func (p *NetPort) note(now protocol.Time, v datagram.Verdict) {
	h := &p.packet.Header
	if h.From.Inc == 0 && v.Reason != datagram.Accepted {
		p.diagnostics.hint(now, h) // it may be recorded, or late
		return
	}
	p.diagnostics.heard(now, h.From)
	p.diagnostics.confirm(now, h)
	if v.Reason != datagram.Accepted || h.From.Inc == 0 {
		return
	}
	p.peers[h.From.Rank].differs = false
	if p.Rates != nil {
		p.Rates.Observe(h.From, h.Echo.Sent, h.Echo.Received, h.Sent, now)
	}
}

// Send encodes a message at once: it belongs to the machine.
func (p *NetPort) Send(now protocol.Time, to protocol.Rank, channel Channel, m protocol.Message) {
	if f, ok := m.(*council.Fetch); ok {
		p.fetch(now, to, f)
		return
	}
	if int(to) >= len(p.peers) {
		return // a member of a configuration that is not in force here yet: it asks
	}
	b := &p.peers[to]
	patient, _ := m.(protocol.Patient)
	b.patient = patient != nil && patient.Patient() && (b.patient || b.batch.Empty())
	if b.batch.Empty() || now < b.since {
		b.since = now
	}
	if err := b.batch.Add(uint32(channel), m); err != nil {
		panic(fmt.Sprintf("runtime: message to %v: %v", to, err))
	}
}

// fetch asks a member for the configuration, outside all configurations.
func (p *NetPort) fetch(now protocol.Time, to protocol.Rank, f *council.Fetch) {
	have := f.Have + 1
	if f.Blank {
		have = 0
	}
	if p.Herald != nil && int(to) < len(p.Addrs) {
		p.Herald.Ask(now, have, p.Addrs[to])
	}
}

// Flush seals and sends what the machines had to say, and then the probes that are still due. The answers gather if several members were
// asked, and nobody waits for what they say.
func (p *NetPort) Flush() (gather time.Duration) {
	p.out = p.out[:0]
	now := protocol.Time(0)
	asked, patient := 0, true
	for i := range p.peers {
		if b := &p.peers[i]; !b.batch.Empty() {
			if now == 0 {
				now = p.Clock()
			}
			asked++
			patient = patient && b.patient
			p.pack(now, b.since, protocol.Rank(i))
		}
	}
	if wake := p.Wire.Wake(); now != 0 || wake != protocol.Never {
		if now == 0 {
			now = p.Clock()
		}
		if wake <= now {
			for _, to := range p.Wire.Probes(now) {
				p.pack(now, now, to)
			}
		}
	}
	if len(p.out) == 0 {
		return 0
	}
	n, err := p.Socket.Write(p.out)
	p.traffic.PacketsOut.Add(uint64(n))
	if n < len(p.out) {
		p.traffic.Unsent.Add(uint64(len(p.out) - n))
		p.diagnostics.network(err)
	}
	if asked > 1 && patient {
		return p.Gather
	}
	return 0
}

// summaryEvery is how often the summary goes to a peer that has not been heard.
const summaryEvery = time.Second

// pack seals the packets to one peer, at least one.
func (p *NetPort) pack(now, since protocol.Time, to protocol.Rank) {
	b := &p.peers[to]
	if p.Wire.Revoked(to) {
		p.Wire.Stamp(now, now, to) // as if it had been sent, and lost
		b.batch.Reset()
		return
	}
	introduces := (p.Wire.Heard(to) == 0 || b.differs) && (b.shown == 0 || now.Sub(b.shown) >= summaryEvery)
	if introduces {
		b.shown = now
	}
	if h, ok := b.tally.Best(p.Recent); ok && len(p.Addrs[p.Self]) > 1 && h != b.heard {
		b.heard = h // it has several ways to us, and must know which is good
		if err := b.batch.Add(0, &b.heard); err != nil {
			panic("runtime: " + err.Error())
		}
	}
	addrs := p.Addrs[to]
	first, all := b.choice.Pick(now, len(addrs), p.Recent)
	for i := range addrs {
		if introduces && (all || i == int(first)) {
			h := p.Wire.Stamp(now, now, to)
			p.put(&h, uint8(i), func(dst []byte) ([]byte, error) { return p.Wire.Introduce(dst, &h, uint8(i), p.Summary) })
		}
	}
	replies := p.Wire.Replies(to)
	payload, _ := b.batch.Next()
	for {
		for i := range addrs {
			if all || i == int(first) {
				// Each is a datagram of its own: the path is under its seal.
				h := p.Wire.Stamp(now, since, to)
				p.put(&h, uint8(i), func(dst []byte) ([]byte, error) { return p.Wire.Seal(dst, &h, uint8(i), payload) })
			}
			if replies && (all || i == int(first)) {
				h := p.Wire.Stamp(now, since, to)
				p.put(&h, uint8(i), func(dst []byte) ([]byte, error) { return p.Wire.SealReply(dst, &h, uint8(i), payload) })
			}
		}
		var more bool
		if payload, more = b.batch.Next(); !more {
			break
		}
	}
	p.Wire.Replied(to)
	b.batch.Reset()
}

// put adds a packet to out.
func (p *NetPort) put(h *datagram.Header, path uint8, seal func(dst []byte) ([]byte, error)) {
	if len(p.out) < cap(p.out) {
		p.out = p.out[:len(p.out)+1]
	} else {
		p.out = append(p.out, transport.Packet{})
	}
	o := &p.out[len(p.out)-1]
	var err error
	o.Data, err = seal(o.Data[:0])
	if err != nil {
		panic("runtime: " + err.Error())
	}
	o.Addr = p.Addrs[h.To.Rank][path]
	if p.Numbered != nil {
		p.Numbered(h.To.Rank, h.Seq)
	}
	p.traffic.BytesOut.Add(uint64(len(o.Data)))
}

// Wake says when a probe is due.
func (p *NetPort) Wake() protocol.Time { return p.Wire.Wake() }

// Close closes the socket.
func (p *NetPort) Close() error {
	if err := p.Socket.Close(); !errors.Is(err, errSocketClosed) {
		return err
	}
	return nil
}

// own notes whose addresses these are.
func (p *NetPort) own(peer protocol.Rank, addrs []netip.AddrPort) {
	for _, a := range addrs {
		p.owners[a] = peer
	}
}

// Traffic counts what went through the port. It may be read at any time.
func (p *NetPort) Traffic() *Traffic { return &p.traffic }

// Counts says what became of the packets that came in. Like Peers it is for the loop's own goroutine.
func (p *NetPort) Counts() datagram.Counts { return p.Wire.Counts() }

// A PeerReport is what is known of one peer, for people.
type PeerReport struct {
	datagram.Report
	// Seen is when any packet of it passed, even of a process that does not know its incarnation yet; zero: never.
	Seen protocol.Time
	// Listened is since when this member listens without a pause of its own: it knows of no silence before.
	Listened protocol.Time
	// Unconfirmed is since when it has confirmed no packet of this member, though it was heard; zero: it was never heard.
	Unconfirmed protocol.Time
	// Addr is where packets to it go.
	Addr netip.AddrPort
	// From is where the last packet of it came from, if that is none of its addresses here.
	From netip.AddrPort
	// Problem is what keeps it from counting; empty if nothing is known.
	Problem string
	// Revoked says that it has no key here.
	Revoked bool
	// Uses is the key of its own that it used last, and Lists the newest one of this member that it knows; zero: it was not heard.
	Uses, Lists identity.ID
}

// Listen logs which members have fallen silent since the last call, and which are heard again.
func (p *NetPort) Listen(now protocol.Time) { p.diagnostics.listen(now) }

// Paused takes note of a pause of this member that is over, if it was longer than a packet takes: then packets waited for this member and not for a peer.
func (p *NetPort) Paused(now protocol.Time, by time.Duration) {
	if !p.Wire.Fast(by) {
		p.Wire.Paused(now)
		p.diagnostics.paused(now, by)
	}
}

// Peer returns what is known of a peer.
func (p *NetPort) Peer(now protocol.Time, peer protocol.Rank) PeerReport {
	r := PeerReport{Report: p.Wire.Report(now, peer), Seen: p.diagnostics.seen[peer], Listened: p.diagnostics.listened, Problem: p.diagnostics.problem(now, peer),
		Unconfirmed: p.diagnostics.confirmed[peer].last(), Revoked: p.Wire.Revoked(peer)}
	r.Uses, r.Lists = p.Wire.Used(peer)
	if r.Revoked {
		r.Problem = "is revoked here: its packets are dropped, and none are sent to it"
	}
	a := p.Addrs[peer]
	if s := p.peers[peer].source; !slices.Contains(a, s) {
		r.From = s
	}
	if len(a) > 0 {
		best, _ := p.peers[peer].choice.Best()
		r.Addr = a[min(int(best), len(a)-1)]
	}
	return r
}
