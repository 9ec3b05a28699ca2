package datagram

import "github.com/regentproject/regent/internal/protocol"

// Adopt goes on under another configuration of the council. Members that stay keep their ranks, and all that is known of them. Any
// other member with a rank is a stranger that was never heard; ranks that no member has are absent. Numbers go on above all that were used
// with any member: one that had another rank before must not get a number twice.
func (e *Endpoint) Adopt(now protocol.Time, self protocol.Rank, members int, c Council, rho protocol.Rho, stay, absent protocol.Set) {
	top := e.Top()
	before := e.peers
	if e.config.MaxAge == DefaultMaxAge(e.config.Delta, e.config.Rho) {
		e.config.MaxAge = DefaultMaxAge(e.config.Delta, rho)
	}
	e.config.Self.Rank, e.config.Members, e.config.Council, e.config.Rho = self, members, c, rho
	e.peers, e.due = make([]peer, members), make([]protocol.Rank, 0, members)
	for i := range e.peers {
		r := protocol.Rank(i)
		if i < len(before) && stay.Has(r) {
			e.peers[i] = before[i]
		} else {
			e.peers[i].begin(now, &e.config)
			e.peers[i].seq = top
		}
		e.peers[i].absent = absent.Has(r)
	}
	e.wake = now
}

// Top returns the highest number of any packet to any member.
func (e *Endpoint) Top() (top uint64) {
	for i := range e.peers {
		top = max(top, e.peers[i].seq)
	}
	return top
}

// Number returns the number of the last packet to a peer.
func (e *Endpoint) Number(to protocol.Rank) uint64 { return e.peers[to].seq }

// begin makes a peer one of which nothing is known.
func (p *peer) begin(now protocol.Time, c *Config) {
	p.sent, p.bound = now.Add(-c.MaxAge), protocol.Unknown // so that everybody is greeted at once
	p.proved, p.greeted = now-1, now.Add(greetFor)
}
