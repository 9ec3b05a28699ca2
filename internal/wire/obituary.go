package wire

import (
	"fmt"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// An obituary is a packet with the report of a guardian (package obituary). Its clear header is that of all packets with another magic. Its
// sender is the member that is dead, and its number is the highest that the dead process may have sent to the receiver. It names no
// incarnation of the receiver: death stays true.
const (
	deathMagic   = 'o'
	deathVersion = 1
)

// IsObituary says whether a packet claims to be the report of a guardian.
func IsObituary(data []byte) bool {
	return len(data) > 1 && data[0] == magic0 && data[1] == deathMagic
}

// Letter returns what a guardian needs to tell a peer that this start of this member is dead. There is none while the member does not know
// its incarnation, and none to a peer without a key. It is made anew after each change of keys, start, incarnation and configuration.
func (e *Endpoint) Letter(to protocol.Rank) (obituary.Letter, error) {
	me := e.Self()
	switch {
	case int(to) >= len(e.peers) || to == me.Rank:
		return obituary.Letter{}, fmt.Errorf("wire: letter to %v: no peer of %v in a council of %d", to, me, len(e.peers))
	case me.Inc == 0:
		return obituary.Letter{}, fmt.Errorf("wire: letter to %v: %v has no incarnation yet", to, me)
	case e.Revoked(to):
		return obituary.Letter{}, fmt.Errorf("wire: letter to %v: it has no key", to)
	}
	d := datagram.Header{From: me, Start: e.start, To: protocol.Ident{Rank: to}, Council: e.council}
	by := e.laneTo(to)
	h := header{version: deathVersion, lowest: deathVersion, highest: deathVersion, key: e.derive.pairs.ring.keys[0].id, council: e.derive.tags[0],
		keys: e.keysOf(to, by)}
	clear := appendHeader(nil, &h, &d)
	clear[offMagic+1] = deathMagic
	l := obituary.Letter{Key: e.derive.death(to, by, &d)}
	copy(l.Head[:], clear)
	return l, nil
}

// openObituary judges the report of a guardian and opens it. It changes nothing but p, and what the next gate lets in.
func (e *Endpoint) openObituary(data []byte, p *Packet) datagram.Reason {
	p.reset()
	if len(data) < obituary.Overhead || len(data) > maxDatagram {
		return datagram.Short
	}
	var h header
	ring, r := e.parse(data, &h, p)
	if r != datagram.Accepted {
		return r
	}
	addressed := e.JudgeObituary(&p.Header)
	if !addressed.Authentic() {
		return addressed
	}
	p.SenderKey, p.ReceiverKey = h.keys.sender, h.keys.receiver
	who, by, r := e.pairOf(ring, addressed, &h, &p.Header)
	if r != datagram.Accepted {
		return r
	}
	key := e.derive.death(who, by, &p.Header)
	if uint32(h.mark) != obituary.Mark(&key) {
		return datagram.Forged
	}
	report, err := obituary.Open(&key, data)
	switch {
	case err == obituary.ErrForged:
		return datagram.Forged
	case addressed != datagram.Obituary:
		return addressed
	case h.version != deathVersion:
		return datagram.Version
	case err != nil:
		return datagram.Malformed
	}
	p.Died = &report
	if report.Whole() {
		e.peers[who].current.reported = true
	}
	return datagram.Obituary
}

// death returns the key of reports that one start of their sender is dead, on a lane between this member and a peer.
func (d *deriver) death(peer protocol.Rank, l lane, h *datagram.Header) (key [obituary.KeySize]byte) {
	d.info = append(d.info[:0], labelDeath...)
	d.block(d.mac(peer, l), h)
	return [obituary.KeySize]byte(d.out)
}
