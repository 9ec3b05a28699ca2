package link

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config describes one member's links. All members of a council have the same periods.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks; never zero. Links are made anew when it is known.
	Inc protocol.Inc
	// Group is what facts are about.
	Group protocol.Group
	// Ping is how often a peer is sent something, be it only a Ping; what it has not acknowledged is sent again then. It costs one
	// datagram for each peer and period, and half of it is the usual wait for a lost message.
	Ping time.Duration
	// Tout is how long a link stays up without proof that both directions work. It must exceed two pings; each further one
	// forgives a lost exchange.
	Tout time.Duration
	// Tin is how old a ping may be when its echo comes, to bring a link up; an older one is a link too slow to be up. It must
	// exceed a ping and a round trip.
	Tin time.Duration
	// Window is how many messages to one peer may be on their way at once; others wait.
	Window int
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{Self: self, Members: members, Inc: inc, Ping: 50 * time.Millisecond, Tout: 200 * time.Millisecond,
		Tin: 100 * time.Millisecond, Window: 64}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("link: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("link: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Inc == 0:
		return fmt.Errorf("link: incarnation 0: make the links when the member knows its incarnation")
	case c.Ping <= 0:
		return fmt.Errorf("link: ping %v: must be positive", c.Ping)
	case c.Tin <= c.Ping:
		return fmt.Errorf("link: tin %v: must exceed the ping period %v", c.Tin, c.Ping)
	case c.Tout <= 2*c.Ping || c.Tout < c.Tin:
		return fmt.Errorf("link: tout %v: must exceed two ping periods of %v, and tin %v", c.Tout, c.Ping, c.Tin)
	case c.Window < 1:
		return fmt.Errorf("link: window %d: must be at least 1", c.Window)
	}
	return nil
}
