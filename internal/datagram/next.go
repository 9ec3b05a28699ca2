package datagram

import "github.com/regentproject/regent/internal/protocol"

// Highest returns the start of a peer that is remembered, under an incarnation above 0 or under none, and the highest number that it has used; 0 if no
// start is. The packets that come next have higher ones.
func (e *Endpoint) Highest(peer protocol.Rank, nameless bool) (Start, uint64) {
	s := &e.peers[peer].current
	if nameless {
		s = &e.peers[peer].lost
	}
	return s.start, s.window.top
}
