package stable

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Variant says after which figure of the paper a machine works.
type Variant uint8

const (
	Alerting Variant = iota // Fig. 4, the default
	Lossy                   // Fig. 3
	Reliable                // Fig. 2: links must be reliable
	Basic                   // Fig. 1: links must be reliable
	variants
)

var variantNames = [variants]string{"alerting", "lossy", "reliable", "basic"}

// String names the variant.
func (v Variant) String() string {
	if v < variants {
		return variantNames[v]
	}
	return fmt.Sprintf("#%d", uint8(v))
}

// expires says whether links must drop what is late.
func (v Variant) expires() bool { return v == Alerting || v == Lossy }

// Config describes one member's machine. All but Self and Inc must be the same at all members.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc protocol.Inc
	// Group is what views and facts are about.
	Group   protocol.Group
	Variant Variant
	// Ping asks who is alive before a new round, and skips the rounds of those who do not answer (Fig. 5).
	Ping bool
	// Gate, if it is not the zero value, lets a member start a new round only if a quorum answers its PING. It needs Ping.
	Gate protocol.Quorums
	// Candidates are the members that may lead; if it is empty all may.
	Candidates protocol.Set
	// Period is how often a leader says OK, in real time (η).
	Period time.Duration
	// Delta is how long a message takes at most from the instant at which it was due to be sent, on a good link (δ). It
	// includes the lateness of timers.
	Delta time.Duration
	// Expiry is how old a message may be that is still heard, by its proven bound: Delta less the lateness of timers, at
	// least twice what a good link takes (PROTOCOLS §1.5). Basic and Reliable hear everything.
	Expiry time.Duration
	Rho    protocol.Rho
}

// Default returns the production elector for a local network: δ and the period are 25 ms, of which timers may use up 5.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Self:    self,
		Members: members,
		Inc:     inc,
		Ping:    true,
		Period:  25 * time.Millisecond,
		Delta:   25 * time.Millisecond,
		Expiry:  20 * time.Millisecond,
		Rho:     protocol.DefaultRho,
	}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	everyone := protocol.Everyone(max(0, c.Members))
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("stable: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("stable: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Variant >= variants:
		return fmt.Errorf("stable: variant %v: there is no such variant", c.Variant)
	case !everyone.Contains(c.Candidates):
		return fmt.Errorf("stable: candidates %v: must be among the %d members", c.Candidates, c.Members)
	case c.Period <= 0:
		return fmt.Errorf("stable: period %v: must be positive", c.Period)
	case c.Delta <= 0:
		return fmt.Errorf("stable: delta %v: must be positive", c.Delta)
	case c.Variant.expires() && (c.Expiry <= 0 || c.Expiry > c.Delta):
		return fmt.Errorf("stable: expiry %v: must be positive and at most delta, which is %v", c.Expiry, c.Delta)
	case c.gated() && !c.Ping:
		return fmt.Errorf("stable: a gate without Ping: set Ping, or nobody knows who answers")
	case c.gated() && c.Gate.Members() != c.Members:
		return fmt.Errorf("stable: a gate of %d members: must be of all %d", c.Gate.Members(), c.Members)
	}
	return c.Rho.Check()
}

// gated says whether a new round needs a quorum.
func (c *Config) gated() bool { return c.Gate.Members() > 0 }
