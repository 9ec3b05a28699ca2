package datagram

import (
	"cmp"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A Spent lists numbers that one start of a peer cannot use again: Judge takes a packet with one of them for Replayed, or for Malformed if the
// number is zero, as long as the start is remembered.
type Spent struct {
	From  protocol.Ident
	Start Start
	// Runs are from the first number to the last, in ascending order.
	Runs [][2]uint64
}

// replays counts the packets of one start that were replayed of late.
type replays struct {
	start Start
	n     uint64
}

// replayed is a start of which packets were replayed, and how many.
type replayed struct {
	*session
	from protocol.Ident
	n    uint64
}

// countReplay counts a packet that was replayed, if its start is remembered.
func (e *Endpoint) countReplay(h *Header) {
	p := &e.peers[h.From.Rank]
	s := p.session(h)
	if s == nil {
		return
	}
	c := &e.replays[h.From.Rank][0]
	if s == &p.lost {
		c = &e.replays[h.From.Rank][1]
	}
	if c.start != s.start {
		*c = replays{start: s.start}
	}
	c.n++
}

// FadeReplays halves the counts of packets that were replayed: starts that nobody replays any more leave the room to others.
func (e *Endpoint) FadeReplays() {
	for r := range e.replays {
		e.replays[r][0].n /= 2
		e.replays[r][1].n /= 2
	}
}

// Spent returns the spent numbers of the starts whose packets are replayed, at most so many starts, and runs of each. Those of which most
// packets were replayed come first. The result is valid until the next call.
func (e *Endpoint) Spent(starts, runs int) []Spent {
	e.replayed = e.replayed[:0]
	for r := range e.peers {
		p, rank := &e.peers[r], protocol.Rank(r)
		for i, s := range [...]replayed{{&p.current, protocol.Ident{Rank: rank, Inc: p.inc}, 0}, {&p.lost, protocol.Ident{Rank: rank}, 0}} {
			if c := e.replays[r][i]; s.known && c.n > 0 && c.start == s.start {
				s.n = c.n
				e.replayed = append(e.replayed, s)
			}
		}
	}
	slices.SortStableFunc(e.replayed, func(a, b replayed) int { return cmp.Compare(b.n, a.n) })
	n := min(starts, len(e.replayed))
	e.spent = slices.Grow(e.spent[:0], n)[:n]
	for i, s := range e.replayed[:n] {
		e.spent[i] = Spent{s.from, s.start, s.window.spent(e.spent[i].Runs, runs)}
	}
	return e.spent
}
