package datagram

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Two processes that have not heard one another have no bounds, and a protocol that answers only fast messages stays silent for
// ever (E-H9); two that have nothing to say to one another lose the bounds they had. So this layer speaks by itself: it
// sends an empty datagram, which carries stamps and an echo as any other,
//
//	to a peer whose datagram showed that it lacks a good echo, or our name, but not within 10 ms of another datagram
//	to a peer to which nothing was sent for half of MaxAge
//	to a peer that does not know this start yet, every 30 ms, for 20 s after the start and after each datagram of it that was meant for another one
//
// The last is for peers under a flood: their kernels let few datagrams in of starts that they have not heard.
//
// A datagram that goes out anyway does as well, so the driver first sends what its machine asks for, and then probes.

// Wake returns when a probe may be due.
func (e *Endpoint) Wake() protocol.Time { return e.wake }

// Probes returns the peers to which an empty datagram is due, in rank order. The driver stamps and sends one to each. The
// slice is used again.
func (e *Endpoint) Probes(now protocol.Time) []protocol.Rank {
	e.due = e.due[:0]
	if now < e.wake {
		return e.due
	}
	e.wake = protocol.Never
	for i := range e.peers {
		p := &e.peers[i]
		if protocol.Rank(i) == e.config.Self.Rank || p.absent {
			continue
		}
		at := e.dueAt(p)
		if at <= now {
			e.due = append(e.due, protocol.Rank(i))
			at = now.Add(e.silence(p, now))
		}
		e.wake = min(e.wake, at)
	}
	return e.due
}

func (e *Endpoint) dueAt(p *peer) protocol.Time {
	if p.owed {
		return p.sent.Add(probeGap)
	}
	return p.sent.Add(e.silence(p, p.sent))
}

// silence returns the longest time without a datagram to a peer after one that was sent at some instant.
func (e *Endpoint) silence(p *peer, sent protocol.Time) time.Duration {
	most := e.config.MaxAge / 2
	if sent < p.greeted {
		// In a large council that is down they are many.
		most = min(most, greetEvery*time.Duration(1+e.config.Members/greetTogether))
	}
	return most
}

// owe takes note that the peer needs a datagram soon.
func (e *Endpoint) owe(now protocol.Time, p *peer) {
	p.owed = true
	e.wake = min(e.wake, max(now, p.sent.Add(probeGap)))
}
