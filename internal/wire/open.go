package wire

import (
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// A Packet is what came in. All of it is valid until it is opened into again.
type Packet struct {
	// Header has the idents, the council, the number and the stamps. After a Mismatch the council differs from ours, and the
	// ranks may mean other members.
	datagram.Header
	// Path is the address of ours that the sender chose, counted as in its configuration.
	Path uint8
	// Lowest and Highest are the versions that the sender reads.
	Lowest, Highest uint8
	// SenderKey and ReceiverKey are the members' keys that the packet claims to be sealed with, even if it is dropped for that.
	SenderKey, ReceiverKey identity.ID
	// Died is what the guardian of the sender reports, if the packet is an obituary; else nil.
	Died *obituary.Report
	// Summary is the sender's configuration, from an introduction under another configuration; else nil.
	Summary *Summary
	// Messages in the order in which they were added. Those that came in parts stand where their last part does. They
	// belong to the endpoint, and are valid until its next Open.
	Messages []Message
}

// A Message came in on a channel.
type Message struct {
	Channel uint32
	protocol.Message
}

// Open opens a packet that was received at now, and judges it. It decrypts in place. Unless the reason says that the packet is
// authentic, nothing of p counts. If a packet is Stale or a Twin the header does, stamps included: the name of the receiver in
// our next packet tells such a process what it is. A packet that is neither authentic nor whole leaves nothing behind but its
// count. One of another Version leaves its number, and which versions the peer reads.
func (e *Endpoint) Open(now protocol.Time, data []byte, p *Packet) datagram.Verdict {
	if IsObituary(data) {
		r := e.openObituary(data, p)
		e.Count(r)
		return datagram.Verdict{Reason: r, Delay: protocol.Unknown}
	}
	r := e.open(now, data, p)
	v := e.Commit(now, &p.Header, r)
	switch r {
	case datagram.Accepted, datagram.OtherIncarnation:
		from := &e.peers[p.From.Rank]
		e.expire(now, from)
		e.joinAll(now, from, p)
	}
	return v
}

// open authenticates, judges and decodes a packet. Nothing that the judge rests on changes before Commit.
func (e *Endpoint) open(now protocol.Time, data []byte, p *Packet) datagram.Reason {
	p.reset()
	if r := shape(data); r != datagram.Accepted {
		return r
	}
	var h header
	ring, r := e.parse(data, &h, p)
	if r != datagram.Accepted {
		return r
	}
	addressed := e.Address(&p.Header)
	if !addressed.Authentic() {
		return addressed
	}
	if h.keys.sender == (identity.ID{}) {
		return e.openIntroduction(ring, addressed, &h, data, p)
	}
	p.SenderKey, p.ReceiverKey = h.keys.sender, h.keys.receiver
	who, by, r := e.pairOf(ring, addressed, &h, &p.Header)
	if r != datagram.Accepted {
		return r
	}
	var with *startCipher
	var known *ciphers
	if addressed == datagram.Accepted {
		known = e.peers[who].ciphers(p.From.Inc)
		with = known.find(&p.Header, by)
	}
	derived := with == nil
	if derived {
		e.derived = startCipher{lane: by, aead: e.derive.aead(who, by, &p.Header)}
		with = &e.derived
	}
	if h.mark != with.marks.of(with.aead, p.Seq) {
		return datagram.Forged
	}
	sealed := data[headerSize:]
	plain, err := with.aead.Open(sealed[:0], e.nonceOf(p.Seq), sealed, data[:headerSize])
	if err != nil {
		return datagram.Forged
	}
	p.Path, p.Lowest, p.Highest = h.path, h.lowest, h.highest
	if addressed == datagram.Mismatch {
		return datagram.Mismatch
	}
	r = e.read(now, &h, p, plain)
	switch r {
	case datagram.Stale, datagram.Twin:
		e.oweReply(who, by)
	case datagram.Accepted, datagram.OtherIncarnation, datagram.Rivals, datagram.Version:
		if p.From.Inc == 0 && e.Heard(who) != 0 {
			e.oweReply(who, by)
		} else {
			e.learn(&h, p)
		}
		if derived {
			known.add(&p.Header, with)
		}
	}
	return r
}

// parse reads the clear header, and finds the cluster key and the council that it names.
func (e *Endpoint) parse(data []byte, h *header, p *Packet) (ring int, r datagram.Reason) {
	parseHeader(data, h, &p.Header)
	ring, ok := e.derive.pairs.ring.find(h.key)
	switch {
	case !ok:
		return ring, datagram.UnknownKey
	case h.council != e.derive.tags[ring]:
		return ring, datagram.OtherCouncil
	}
	return ring, datagram.Accepted
}

// shape judges a packet by its length and its magic.
func shape(data []byte) datagram.Reason {
	switch {
	case len(data) < overhead || len(data) > maxDatagram:
		return datagram.Short
	case data[offMagic] == magic0 && data[offMagic+1] == magic1:
		return datagram.Accepted
	case data[offMagic] == magic0 && strings.IndexByte(oldMagics, data[offMagic+1]) >= 0:
		return datagram.Older
	}
	return datagram.Foreign
}

// pairOf finds the sender and the keys that a packet claims. A member of another configuration has another rank, and is known by its
// key.
func (e *Endpoint) pairOf(ring int, addressed datagram.Reason, h *header, d *datagram.Header) (protocol.Rank, lane, datagram.Reason) {
	pairs := e.derive.pairs
	who := d.From.Rank
	if addressed == datagram.Mismatch {
		who = protocol.Rank(slices.IndexFunc(pairs.peers, func(p pair) bool { return slices.Contains(p.ids, h.keys.sender) }))
	} else if e.Revoked(who) {
		return who, lane{}, datagram.Revoked
	}
	if int(who) >= len(pairs.peers) {
		return who, lane{}, datagram.MemberKey
	}
	theirs, own := slices.Index(pairs.peers[who].ids, h.keys.sender), slices.Index(pairs.own, h.keys.receiver)
	if theirs < 0 || own < 0 {
		return who, lane{}, datagram.MemberKey
	}
	return who, lane{ring: int8(ring), own: int8(own), theirs: int8(theirs)}, datagram.Accepted
}

func (p *Packet) reset() {
	clear(p.Messages)
	*p = Packet{Messages: p.Messages[:0]}
}

// read judges an authentic packet of our configuration, and decodes it. It changes nothing but p.
func (e *Endpoint) read(now protocol.Time, h *header, p *Packet, plain []byte) datagram.Reason {
	readable := h.version >= e.lowest && h.version <= e.highest
	if readable {
		parseStamps(plain, &p.Header)
	}
	r := e.Judge(now, &p.Header)
	if r != datagram.Replayed && h.lowest > h.highest {
		return datagram.Malformed
	}
	e.pool.reset()
	e.parts = e.parts[:0]
	switch r {
	case datagram.Accepted, datagram.OtherIncarnation, datagram.Rivals:
	default:
		return r
	}
	if !readable {
		return datagram.Version
	}
	if err := e.decode(plain[stampsSize:], p, r); err != nil {
		p.Messages = p.Messages[:0]
		return datagram.Malformed
	}
	return r
}

// learn notes which versions a peer reads, which of its keys it uses and which of ours it lists. It is not for packets that may be
// recorded, and from a build that is long gone: those of outdated starts, and under incarnation 0 once the peer was heard.
func (e *Endpoint) learn(h *header, p *Packet) {
	from := &e.peers[p.From.Rank]
	from.lowest, from.highest = h.lowest, h.highest
	if from.uses != h.keys.sender || from.lists != h.keys.known {
		from.uses, from.lists, from.seal = h.keys.sender, h.keys.known, nil
	}
}

// decode reads all items of a packet of which r is known so far. Messages count if it is accepted, and proofs if it is meant for
// another incarnation.
func (e *Endpoint) decode(b []byte, p *Packet, r datagram.Reason) error {
	for n := 0; len(b) > 0; n++ {
		if n == maxItems {
			return errItems
		}
		it, rest, err := nextItem(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case it.number == itemSummary:
			return errSummary // it belongs into an introduction
		case r == datagram.OtherIncarnation && e.pool.proves(it.number):
			if err := e.decodeMessage(it, p); err != nil {
				return err
			}
		case r != datagram.Accepted:
		case it.number == itemFragment:
			f, err := parseFragment(it)
			if err != nil {
				return err
			}
			e.parts = append(e.parts, f)
		default:
			if err := e.decodeMessage(it, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeMessage decodes a body. Numbers that we do not know belong to a newer build, and are skipped; so is what a
// member says that does not know its incarnation, unless it is about that.
func (e *Endpoint) decodeMessage(it received, p *Packet) error {
	list := e.pool.rows[it.number]
	if list == nil || p.From.Inc == 0 && !list.row.Recovery || p.Council.Epoch != e.council.Epoch && !list.row.Any {
		e.unknown++
		return nil
	}
	m, err := list.decode(e.pool, it.body)
	if err != nil {
		return err
	}
	p.Messages = append(p.Messages, Message{it.channel, m})
	return nil
}

// joinAll adds the parts in a packet to the messages that they belong to.
func (e *Endpoint) joinAll(now protocol.Time, from *peer, p *Packet) {
	for i := range e.parts {
		it, ok := e.join(now, from, &p.Header, &e.parts[i])
		if ok && e.decodeMessage(it, p) != nil {
			e.givenUp++
		}
	}
}
