package datagram

import (
	"math/bits"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const billion = 1_000_000_000

// bound returns an upper bound on the time from h.Sent to now, given that h.Echo is about this process; Unknown if it does
// not fit. With the names of PROTOCOLS 1.4, A and B are the stamps of the echo, C and D those of the datagram.
//
//	A ─── n ──▶ B ·· C ─── m ──▶ D        delay(m) = (D-A) - (C-B) - delay(n),  delay(n) ≥ MinDelay
//
// Each length is taken for the real time that makes the bound largest. C may lie before B: a message that waited for the
// disk has the stamp of its Step, and may carry an echo that came in later.
func (c *Config) bound(h *Header, now protocol.Time) time.Duration {
	total := c.Rho.RealAtMost(now.Sub(h.Echo.Sent))
	if total == protocol.Unknown {
		return protocol.Unknown
	}
	if held := h.Sent.Sub(h.Echo.Received); held >= 0 {
		return total - c.Rho.RealAtLeast(held) - c.MinDelay
	}
	ahead := c.Rho.RealAtMost(h.Echo.Received.Sub(h.Sent))
	if ahead > protocol.Unknown-total {
		return protocol.Unknown
	}
	return total + ahead - c.MinDelay
}

// pairs remembers the stamps of datagrams that came in from one peer: the best pair of the last half of MaxAge and more. It
// collects the best since an instant, and keeps the best of the time before, and starts over every half of MaxAge. So a
// lucky pair serves for long enough, and is not missed when it is forgotten.
type pairs struct {
	now, before Echo // zero: none
	since       protocol.Time
}

func (p *pairs) add(pair Echo, c *Config) {
	switch {
	case p.now == (Echo{}) || pair.Received.Sub(p.since) > c.MaxAge/2:
		p.before, p.now, p.since = p.now, pair, pair.Received
	case better(pair, p.now, c.Rho):
		p.now = pair
	}
}

// best returns the pair that proves the smallest bounds, and none that is older than MaxAge.
func (p *pairs) best(now protocol.Time, c *Config) Echo {
	if p.now == (Echo{}) || now.Sub(p.now.Received) > c.MaxAge {
		return Echo{}
	}
	if p.before == (Echo{}) || now.Sub(p.before.Received) > c.MaxAge || better(p.now, p.before, c.Rho) {
		return p.now
	}
	return p.before
}

// better says whether the newer echo will prove no larger bounds than the older one. An echo (A,B) adds B/(1+ρ) - A/(1-ρ) to
// every bound that is made with it, which is B(1-ρ) - A(1+ρ) but for a factor. So one scalar trades the age of an echo
// against how fast it was. We compare the differences, which need 128 bits only in between.
func better(newer, older Echo, rho protocol.Rho) bool {
	received, sent := newer.Received.Sub(older.Received), newer.Sent.Sub(older.Sent)
	if received < 0 || sent < 0 {
		return received <= 0 && sent >= 0
	}
	// drift: both sides are scaled by the same factor and only compared, so nothing is rounded
	hi1, lo1 := bits.Mul64(uint64(received), billion-uint64(rho))
	// drift: as above
	hi2, lo2 := bits.Mul64(uint64(sent), billion+uint64(rho))
	return hi1 < hi2 || hi1 == hi2 && lo1 <= lo2
}
