package wire

import (
	"crypto/cipher"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// A Packet is what came in. All of it is valid until it is opened into again.
type Packet struct {
	// Header has the idents, the number and the stamps.
	datagram.Header
	// Path is the address of ours that the sender chose, counted as in its configuration.
	Path uint8
	// Epoch and Digest are the sender's. After a Mismatch they differ from ours, and its rank may mean another member.
	Epoch  uint64
	Digest Digest
	// Lowest and Highest are the versions that the sender reads.
	Lowest, Highest uint8
	// Summary is the sender's configuration; nil if the packet has none.
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

// Open opens a packet that was received at now. It decrypts in place. Unless the reason says that the packet is
// authentic, nothing of p counts. After Stale and Twin the header does, stamps included: the name of the receiver in our
// next packet tells such a process what it is. If a packet is dropped, the endpoint is as if it had never come, but for
// its counts. Only Version leaves something behind: the number is used, and which versions the peer reads is known.
func (e *Endpoint) Open(now protocol.Time, data []byte, p *Packet) Reason {
	r := e.open(now, data, p)
	e.counts.Packets[r]++
	return r
}

func (e *Endpoint) open(now protocol.Time, data []byte, p *Packet) Reason {
	p.reset()
	if len(data) < overhead || len(data) > maxDatagram {
		return Short
	}
	if data[offMagic] != magic0 || data[offMagic+1] != magic1 {
		return Foreign
	}
	var h header
	parseHeader(data, &h, &p.Header)
	key, ok := e.ring.find(h.key)
	if !ok {
		return UnknownKey
	}
	// A member of another configuration has other ranks. To name what differs, such a packet must be opened first.
	matches := h.epoch == e.epoch && h.digest == e.digest
	if r := e.addressed(&p.Header, matches); r != Accepted {
		return r
	}
	var from *peer
	var s *session
	var aead cipher.AEAD
	if matches {
		from = &e.peers[p.From.Rank]
		if s = from.session(&h.start); s != nil {
			aead = s.cipher(h.key)
		}
	}
	derived := aead == nil
	if derived {
		aead = e.derive.aead(key, p.From.Rank, &h.start, p.To.Rank)
	}
	sealed := data[headerSize:]
	plain, err := aead.Open(sealed[:0], e.nonceOf(p.Seq), sealed, data[:headerSize])
	if err != nil {
		return Forged
	}
	p.Path, p.Epoch, p.Digest, p.Lowest, p.Highest = h.path, h.epoch, h.digest, h.lowest, h.highest
	if !matches {
		if h.version >= e.lowest && h.version <= e.highest {
			p.Summary = findSummary(plain[stampsSize:])
		}
		return Mismatch
	}
	r := e.judge(&h, from, s, p, plain)
	switch r {
	case Accepted, OtherIncarnation, Version:
		e.commit(&h, from, s, p, derived, aead)
	default:
		return r
	}
	e.expire(now, from)
	e.joinAll(now, from, &h.start, p)
	return r
}

func (p *Packet) reset() {
	clear(p.Messages)
	*p = Packet{Messages: p.Messages[:0]}
}

// addressed checks who speaks to whom. Ranks of another configuration mean nothing to us, but must be ranks.
func (e *Endpoint) addressed(d *datagram.Header, matches bool) Reason {
	members := protocol.Rank(len(e.peers))
	if !matches {
		if d.From.Rank >= protocol.MaxMembers || d.To.Rank >= protocol.MaxMembers {
			return Stranger
		}
		return Accepted
	}
	switch {
	case d.From.Rank >= members || d.From.Rank == e.me.Rank:
		return Stranger
	case d.To.Rank != e.me.Rank:
		return Misdirected
	}
	return Accepted
}

// judge makes all checks of an authentic packet of our configuration, and decodes it. It changes nothing but p.
func (e *Endpoint) judge(h *header, from *peer, s *session, p *Packet, plain []byte) Reason {
	r := Accepted
	if s == nil {
		r = from.admit(&h.start)
	} else if !s.window.fresh(p.Seq) {
		return Replayed
	}
	if p.Seq == 0 || h.lowest > h.highest {
		return Malformed
	}
	e.pool.reset()
	e.parts = e.parts[:0]
	if h.version < e.lowest || h.version > e.highest {
		if r != Accepted {
			return r
		}
		return Version
	}
	parseStamps(plain, &p.Header)
	if r == Accepted && p.To.Inc != e.me.Inc {
		r = OtherIncarnation
	}
	if err := e.decode(plain[stampsSize:], p, r); err != nil {
		p.Messages = p.Messages[:0]
		return Malformed
	}
	return r
}

// commit remembers what an accepted packet taught.
func (e *Endpoint) commit(h *header, from *peer, s *session, p *Packet, derived bool, aead cipher.AEAD) {
	if s == nil {
		s = from.remember(&h.start)
	}
	if derived {
		if len(s.ciphers) == MaxKeys {
			s.ciphers = s.ciphers[1:]
		}
		s.ciphers = append(s.ciphers, sessionCipher{h.key, aead})
	}
	s.window.use(p.Seq)
	if s == &from.current || !from.current.known {
		// What was recorded under incarnation 0 may be from a build that is long gone.
		from.lowest, from.highest = h.lowest, h.highest
	}
}

// decode reads all items of a packet of which r is known so far. Messages count if it is accepted.
func (e *Endpoint) decode(b []byte, p *Packet, r Reason) error {
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
			if p.Summary, err = decodeSummary(it.body); err != nil {
				return err
			}
		case r != Accepted:
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
	shelf := e.pool.rows[it.number]
	if shelf == nil || p.From.Inc == 0 && !shelf.row.Recovery {
		e.counts.Unknown++
		return nil
	}
	m, err := shelf.decode(e.pool, it.body)
	if err != nil {
		return err
	}
	p.Messages = append(p.Messages, Message{it.channel, m})
	return nil
}

// joinAll adds the parts in a packet to the messages that they belong to.
func (e *Endpoint) joinAll(now protocol.Time, from *peer, s *start, p *Packet) {
	for i := range e.parts {
		it, ok := e.join(now, from, s, p.Sent, &e.parts[i])
		if ok && e.decodeMessage(it, p) != nil {
			e.counts.GivenUp++
		}
	}
}

// findSummary looks for a summary in a packet of another configuration, of which nothing else is looked at.
func findSummary(b []byte) *Summary {
	for range maxItems {
		it, rest, err := nextItem(b)
		if err != nil {
			return nil
		}
		b = rest
		if it.number == itemSummary {
			s, _ := decodeSummary(it.body)
			return s
		}
	}
	return nil
}
