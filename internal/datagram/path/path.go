// Package path chooses among several addresses of one peer.
//
// A member with several addresses can be reached by several paths, of which any may be slow, or dead in one direction.
// Only the receiver knows by which of them datagrams come, and come in time. So it says so: each datagram to a peer
// tells, in a Heard, by which path the best of that peer's latest fast datagrams came. The sender goes by the path that
// was proven last, and by all of them as long as no proof is recent: then the first renewal that got lost is repeated by
// all, and a dead path costs a round trip. Now and then it goes by all of them anyway, so that a path that has become
// better is found. A link is down when all its paths are.
//
// The package is pure. What goes by several paths comes several times, as different datagrams: machines must stand
// that from any network.
package path

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Max is how many addresses a member may have.
const Max = 8

// Heard tells a peer by which path its datagrams come best.
type Heard struct {
	// Path is the path, as the peer counts them, of its datagram with the stamp Sent.
	Path uint8
	Sent protocol.Time
}

// Copy returns a Heard of its own.
func (m *Heard) Copy() protocol.Message { c := *m; return &c }

// Name returns path.Heard.
func (m *Heard) Name() string { return "path.Heard" }

// A Tally is what a receiver knows of the paths by which one peer's datagrams come. The zero value has heard nothing.
type Tally struct {
	paths [Max]arrival
}

type arrival struct {
	sent  protocol.Time // the latest stamp; zero: none
	delay time.Duration // smoothed
}

// Note takes a fast datagram that was stamped sent and is proven to have taken at most delay.
func (t *Tally) Note(path uint8, sent protocol.Time, delay time.Duration) {
	if path >= Max {
		return
	}
	a := &t.paths[path]
	switch {
	case a.sent == 0:
		a.delay = delay
	default:
		a.delay += (delay - a.delay) / 4
	}
	a.sent = max(a.sent, sent)
}

// Best returns what to tell the peer: of the paths by which a datagram came that was sent within recent of the latest,
// the one with the least delay. A path must be an eighth faster to be preferred to one that comes before it.
func (t *Tally) Best(recent time.Duration) (Heard, bool) {
	var latest protocol.Time
	for i := range t.paths {
		latest = max(latest, t.paths[i].sent)
	}
	best := -1
	for i := range t.paths {
		a := &t.paths[i]
		if a.sent == 0 || latest.Sub(a.sent) > recent {
			continue
		}
		if best < 0 || a.delay+a.delay/8 < t.paths[best].delay {
			best = i
		}
	}
	if best < 0 {
		return Heard{}, false
	}
	return Heard{Path: uint8(best), Sent: t.paths[best].sent}, true
}

// A Choice is how a sender reaches one peer. The zero value goes by all paths.
type Choice struct {
	best   uint8
	proven protocol.Time // the stamp of the latest datagram that is known to have come; zero: none
	count  uint64
}

// Explore is how often a datagram goes by all paths though one is proven.
const Explore = 64

// Prove takes what the peer says.
func (c *Choice) Prove(h *Heard) {
	if h.Path < Max && h.Sent > c.proven {
		c.best, c.proven = h.Path, h.Sent
	}
}

// Pick says by which of n paths to send at now: by one, or by all. A proof counts for as long as recent.
func (c *Choice) Pick(now protocol.Time, n int, recent time.Duration) (path uint8, all bool) {
	if n <= 1 {
		return 0, false
	}
	c.count++
	if c.proven == 0 || int(c.best) >= n || now.Sub(c.proven) > recent || c.count%Explore == 0 {
		return 0, true
	}
	return c.best, false
}

// Best returns the path that was proven last; ok says that any was.
func (c *Choice) Best() (path uint8, ok bool) { return c.best, c.proven != 0 }

// Reset forgets what was proven: the addresses have changed.
func (c *Choice) Reset() { *c = Choice{} }

// String shows the choice for people.
func (c *Choice) String() string {
	if c.proven == 0 {
		return "all"
	}
	return fmt.Sprint(c.best)
}
