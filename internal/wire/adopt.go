package wire

import (
	"errors"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// A Change is another configuration of the council, as far as packets know it.
type Change struct {
	Self    protocol.Rank
	Council datagram.Council
	// Rho bounds the drift of clocks.
	Rho protocol.Rho
	// ID is that of the council.
	ID protocol.CouncilID
	// Pairs are the keys of the members, by rank. A rank that no member has has none.
	Pairs *Pairs
	// Stay are the ranks that have the member that they had, and Absent those that no member has.
	Stay, Absent protocol.Set
}

// Adopt goes on under another configuration. What is known of members that stay stands: their starts, windows and echoes. Packets go on
// being numbered under the random bits of this start, above all numbers that were used: the keys of packets do not depend on the
// configuration, so a number that came back would be a nonce that is used twice. Packets that members sealed under another number
// of the council open as long as its sender has a key here. Those of another council do not.
func (e *Endpoint) Adopt(now protocol.Time, c *Change) error {
	if c.Pairs.self != c.Self || int(c.Self) >= len(c.Pairs.peers) {
		return errors.New("wire: keys of another member")
	}
	members := len(c.Pairs.peers)
	e.Endpoint.Adopt(now, c.Self, members, c.Council, c.Rho, c.Stay, c.Absent)
	top := e.Top()
	before := e.peers
	e.council, e.peers, e.pending, e.derive = c.Council, make([]peer, members), 0, newDeriver(c.Pairs, c.ID)
	e.id = c.ID
	for i := range e.peers {
		p := &e.peers[i]
		if i < len(before) && c.Stay.Has(protocol.Rank(i)) {
			*p = before[i]
			p.seal, p.current.list, p.lost.list, p.replies = nil, nil, nil, false
			e.pending += p.assembling.size
		}
		if !c.Stay.Has(protocol.Rank(i)) {
			p.sealed = top
		}
	}
	return nil
}

// Pairs returns the keys in force.
func (e *Endpoint) Pairs() *Pairs { return e.derive.pairs }
