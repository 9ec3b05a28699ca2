package wire

import (
	"fmt"

	"github.com/regentproject/regent/internal/datagram"
)

// An introduction is a packet that holds a summary and nothing else. It is sealed with the cluster key and the council's id, and not with the keys
// of members: its receiver may have another configuration, in which the sender has another key or is not listed. So all that an
// introduction can do is to name a difference. It names no key of a member.

// Introduce appends an introduction to dst, for a peer that may have another configuration. d is what Stamp returned, as for Seal.
func (e *Endpoint) Introduce(dst []byte, d *datagram.Header, path uint8, s *Summary) ([]byte, error) {
	body, err := s.encode()
	if err != nil {
		return dst, err
	}
	payload := appendItem(nil, itemSummary, 0, body)
	if len(payload) > e.mtu-overhead {
		return dst, fmt.Errorf("wire: summary takes %d bytes: a packet has room for %d; raise the mtu", len(payload), e.mtu-overhead)
	}
	if err := e.sealable(d, payload); err != nil {
		return dst, err
	}
	return e.seal(e.derive.introduction(0, d), nil, dst, memberKeys{}, d, path, payload), nil
}

// openIntroduction reads the summary of a member with another configuration.
func (e *Endpoint) openIntroduction(ring int, addressed datagram.Reason, h *header, data []byte, p *Packet) datagram.Reason {
	if addressed != datagram.Mismatch && e.Revoked(p.From.Rank) {
		return datagram.Revoked
	}
	sealed := data[headerSize:]
	plain, err := e.derive.introduction(ring, &p.Header).Open(sealed[:0], e.nonceOf(p.Seq), sealed, data[:headerSize])
	if err != nil {
		return datagram.Forged
	}
	p.Path, p.Lowest, p.Highest = h.path, h.lowest, h.highest
	if h.version < e.lowest || h.version > e.highest {
		return unread(addressed) // the sender's other packets say the same with its own key
	}
	it, rest, err := nextItem(plain[stampsSize:])
	if err != nil || it.number != itemSummary || len(rest) > 0 {
		return datagram.Malformed
	}
	s, err := decodeSummary(it.body)
	switch {
	case err != nil:
		return datagram.Malformed
	case addressed == datagram.Mismatch:
		p.Summary = s
	}
	return unread(addressed)
}

// unread is what becomes of an introduction as such.
func unread(addressed datagram.Reason) datagram.Reason {
	if addressed == datagram.Mismatch {
		return datagram.Mismatch
	}
	return datagram.Introduction
}
