package datagram

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config is what an Endpoint must know of its member and council.
type Config struct {
	// Self is the member, in its incarnation; 0 while it does not know it.
	Self    protocol.Ident
	Members int
	// Start are random bits that no other start of the member has drawn.
	Start Start
	// Council is the configuration in force.
	Council Council
	// Rho bounds the rate of all clocks.
	Rho protocol.Rho
	// Delta is Δ: a datagram is fast if its delay is proven to be at most this. To call all fast that take at most d it must be
	// at least 2d - MinDelay + 2ρ·MaxAge.
	Delta time.Duration
	// MinDelay is what every datagram between two members takes at least. Zero is always true; more makes bounds tighter.
	MinDelay time.Duration
	// MaxAge is Amax, the age at which an echo is forgotten; half of it is the longest silence before a probe. Zero takes the
	// longest for which 2ρ·MaxAge is at most Δ/4, but not more than a minute: an older echo would cost more than it is worth.
	MaxAge time.Duration
}

const (
	// probeGap is the shortest time between a datagram to a peer and a probe to it.
	probeGap = 10 * time.Millisecond

	// greetEvery is the time between datagrams to a peer that does not know this start yet, in councils of fewer than greetTogether members, and greetFor how long they go on. A
	// kernel that lets one in 64 in has let one in after two seconds, on average.
	greetEvery    = 30 * time.Millisecond
	greetFor      = 20 * time.Second
	greetTogether = 32

	// prompt is the part of Δ that messages may wait between their Step and the wire, and still be as good as a probe.
	prompt = 16

	longestMaxAge  = time.Minute
	shortestMaxAge = 2 * probeGap
)

// DefaultMaxAge is what a MaxAge of zero stands for.
func DefaultMaxAge(delta time.Duration, rho protocol.Rho) time.Duration {
	if rho <= 0 {
		return longestMaxAge
	}
	// drift: a choice that nothing rests on, not a measure of time
	return min(longestMaxAge, max(shortestMaxAge, delta*125_000_000/time.Duration(rho)))
}

func (c *Config) check() error {
	if c.MaxAge == 0 {
		c.MaxAge = DefaultMaxAge(c.Delta, c.Rho)
	}
	switch err := c.Rho.Check(); {
	case err != nil:
		return fmt.Errorf("datagram: %w", err)
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("datagram: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self.Rank) >= c.Members:
		return fmt.Errorf("datagram: rank %d: the council has %d members", c.Self.Rank, c.Members)
	case c.Delta <= 0 || c.Delta > time.Hour:
		return fmt.Errorf("datagram: delta %v: must be above 0 and at most an hour", c.Delta)
	case c.MinDelay < 0 || c.MinDelay >= c.Delta:
		return fmt.Errorf("datagram: minimal delay %v: must be at least 0 and below delta %v", c.MinDelay, c.Delta)
	case c.MaxAge < shortestMaxAge:
		return fmt.Errorf("datagram: maximal age %v of an echo: must be at least %v", c.MaxAge, shortestMaxAge)
	}
	return nil
}
