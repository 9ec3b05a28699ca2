package datagram

import "github.com/regentproject/regent/internal/protocol"

// A packet is judged once, in three steps, of which only the last changes anything:
//
//	Address  before it is authenticated: which member claims to send it, to which one, and in which council
//	Judge    after that: which start of the sender it is, whether it was seen before, and which incarnation it is meant for
//	Commit   once its sealed part has been decoded: the start and the number are remembered, and its delay is bounded
//
// So a packet that does not authenticate or decode leaves no trace but its count.

// Address judges the sender and the receiver. A member of another configuration has other ranks, so those of a Mismatch mean
// nothing to us; but they must be ranks. Under another number of the council that this member knows, ranks are seats, which nobody
// changes: such a packet is judged as any other, and its key tells whether its sender has the seat that it claims.
func (e *Endpoint) Address(h *Header) Reason {
	if h.Council.Epoch == e.config.Council.Epoch && h.Council.Digest != e.config.Council.Digest {
		if h.From.Rank >= protocol.MaxMembers || h.To.Rank >= protocol.MaxMembers {
			return Stranger
		}
		return Mismatch
	}
	switch {
	case int(h.From.Rank) >= e.config.Members || h.From.Rank == e.config.Self.Rank:
		return Stranger
	case h.To.Rank != e.config.Self.Rank:
		return Misdirected
	}
	return Accepted
}

// Judge judges an authentic header, of which the stamps need not be known yet. It changes nothing.
func (e *Endpoint) Judge(now protocol.Time, h *Header) Reason {
	if r := e.Address(h); r != Accepted {
		return r
	}
	if h.Seq == 0 || h.From.Inc > protocol.MaxInc {
		return Malformed
	}
	p := &e.peers[h.From.Rank]
	s := p.session(h)
	if s != nil && !s.window.fresh(h.Seq) {
		return Replayed
	}
	if h.From.Inc != 0 {
		if s == nil && h.From.Inc <= p.inc {
			return p.outdated(h)
		}
		if p.rival.mutes(now) {
			return Rivals
		}
	}
	if !e.mine(h) {
		return OtherIncarnation
	}
	if s == nil && h.From.Inc == 0 && (h.Echo.Sent <= p.proved || h.Echo.Sent > now) {
		return Replayed
	}
	return Accepted
}

// mine says whether a packet is meant for this start of this member.
func (e *Endpoint) mine(h *Header) bool {
	return h.To.Inc == e.config.Self.Inc && h.ToStart == e.config.Start.Prefix()
}

// session finds the start that a packet comes from; nil if it is not one of those remembered.
func (p *peer) session(h *Header) *session {
	s := &p.current
	if h.From.Inc == 0 {
		s = &p.lost
	}
	if s.known && s.start == h.Start && (h.From.Inc == 0 || h.From.Inc == p.inc) {
		return s
	}
	return nil
}

// outdated says what a start is that is not remembered and has no higher incarnation. Only a higher one replaces the current start,
// so no recorded packet can push it out and make its packets fresh again. Incarnation 0 has a place of its own. There a start is
// remembered that echoes what we sent after the one before it was: no recorded packet does.
func (p *peer) outdated(h *Header) Reason {
	if h.From.Inc == p.inc {
		return Twin
	}
	return Stale
}

// Accept judges a packet that needs no decoding, and commits it.
func (e *Endpoint) Accept(now protocol.Time, h *Header) Verdict {
	return e.Commit(now, h, e.Judge(now, h))
}

// Commit counts a packet and remembers what it taught. The reason is that of Judge or, if the sealed part could not be
// read, Version or Malformed; if that is not known to be authentic the packet is only counted.
func (e *Endpoint) Commit(now protocol.Time, h *Header, r Reason) Verdict {
	e.counts.Packets[r]++
	v := Verdict{Reason: r, Delay: protocol.Unknown}
	if !r.counted() {
		return v
	}
	p := &e.peers[h.From.Rank]
	switch r {
	case Stale:
		e.old(now, p, h)
		return v
	case Twin:
		e.twin(now, p)
		return v
	}
	if h.From.Inc == 0 {
		e.nameless(now, p, h, r)
		return v
	}
	v.Restarted = p.remember(now, h)
	if r == Version {
		return v
	}
	p.nameless = false
	if r == Rivals {
		return v
	}
	p.heard = now
	p.pairs.add(Echo{Sent: h.Sent, Received: now}, &e.config)
	if r == OtherIncarnation {
		p.greeted = now.Add(greetFor)
		e.owe(now, p) // our name is in whatever we send
		return v
	}
	p.greeted = 0
	if e.config.Self.Inc != 0 { // an echo to a process without a name may be about another one
		v.Delay = e.measure(now, p, h)
	}
	return v
}

// remember marks the number of a packet as used, and says whether its sender is heard for the first time in this incarnation.
func (p *peer) remember(now protocol.Time, h *Header) (restarted bool) {
	if p.session(h) == nil {
		p.restart(now, h)
		restarted = true
	}
	p.current.window.use(h.Seq)
	return restarted
}

// nameless takes note of a datagram of a process that does not know its incarnation. There may have been others before it, with
// other clocks: so its stamps do not count.
func (e *Endpoint) nameless(now protocol.Time, p *peer, h *Header, r Reason) {
	echo := Echo{Sent: h.Sent, Received: now}
	switch r {
	case OtherIncarnation:
		p.greeting = greeting{start: h.Start, echo: echo}
		e.owe(now, p) // our name is in whatever we send
	case Accepted:
		if p.session(h) == nil {
			p.lost, p.proved = session{start: h.Start, known: true}, now
		}
		p.lost.window.use(h.Seq)
		p.nameless, p.reply, p.greeted = true, echo, 0
	}
}
