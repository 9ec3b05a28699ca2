package wire

import (
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// This file answers processes that may have other keys than the start of their member that was heard last: one with an old copy of its
// directory, or one that has lost its incarnation. They can open only what is sealed with keys that they have, and their own packets
// name such a pair. But those packets may be recorded, so the pair serves for a copy of what is sent next, and for nothing else: the
// lane of ordinary packets stays.

// oweReply notes that the next packets to a peer are sealed under the keys of a packet that came in, too, if those differ.
func (e *Endpoint) oweReply(to protocol.Rank, by lane) {
	p := &e.peers[to]
	back := lane{own: by.own, theirs: by.theirs, out: true}
	if back != e.laneTo(to) {
		p.reply, p.replies = back, true
	}
}

// laneTo returns the lane of ordinary packets to a peer.
func (e *Endpoint) laneTo(to protocol.Rank) lane {
	p, pairs := &e.peers[to], e.derive.pairs
	return lane{own: place(pairs.own, p.lists), theirs: place(pairs.peers[to].ids, p.uses), out: true}
}

// Replies says whether the next packets to a peer are to be sealed by SealReply, too.
func (e *Endpoint) Replies(to protocol.Rank) bool { return e.peers[to].replies }

// Replied says that they were.
func (e *Endpoint) Replied(to protocol.Rank) { e.peers[to].replies = false }

// SealReply is Seal under the keys of the last packet that asks for it.
func (e *Endpoint) SealReply(dst []byte, d *datagram.Header, path uint8, payload []byte) ([]byte, error) {
	if err := e.sealable(d, payload); err != nil {
		return dst, err
	}
	p := &e.peers[d.To.Rank]
	return e.seal(e.derive.aead(d.To.Rank, p.reply, d), new(marks), dst, e.keysOf(d.To.Rank, p.reply), d, path, payload), nil
}

// keysOf names the keys of a lane to a peer.
func (e *Endpoint) keysOf(to protocol.Rank, l lane) memberKeys {
	ids := e.derive.pairs.peers[to].ids
	return memberKeys{sender: e.derive.pairs.own[l.own], receiver: ids[l.theirs], known: ids[len(ids)-1]}
}
