package rain

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
)

// Config describes one member of the council that the consistent groups are on.
type Config struct {
	Self    protocol.Rank
	Members int
	// Form is which of the paper's protocols is run. All members run the same.
	Form Form
	// Quorums gates the form Omega: who sees less than a quorum is dead, and a view counts once a quorum has it. Its decisions
	// then need an authority. The zero value is the paper's own form, for networks that cannot be partitioned.
	Quorums protocol.Quorums
	// Leaders are the members that may manage, because the authority gives them leases. The zero value: all.
	Leaders protocol.Set
	// Inc is the incarnation of a member without an authority, which has nobody else to say it.
	Inc protocol.Inc
	// Epoch is the council's, and goes into the stamps of decisions.
	Epoch uint64
	// Council is asked after every Step of the authority which configuration is in force, if members come and go; nil: they do not.
	// It sets Self, Members, Quorums and Leaders, and stamps bear the number of the configuration in which the lease began.
	Council Council
	// Owns says which groups are consistent; all others are the authority's own business. nil: all are consistent.
	Owns func(protocol.Group) bool
	// Diskless members keep no record.
	Diskless bool

	// Ping, Tout and Tin are those of the links (package link).
	Ping, Tout, Tin time.Duration
	// Stay is for how long a member may go on without a word from a quorum that it is still one; Renew is how often it asks. A
	// manager waits for Stay before it recovers what was lost, so it adds to every fail-over; it must exceed two of Renew and a round trip.
	Stay, Renew time.Duration
	// Stall is how long a link between two members may be broken, and only that, before it is reported; Evict how long before
	// one of its ends has to leave the group (evict.go), so that the others can go on. Zero: never.
	Stall, Evict time.Duration
	Rho          protocol.Rho
}

// Form is one of the protocols of the paper, of which each has all that the one before it has.
type Form uint8

const (
	Omega Form = iota // failures, recoveries and wrong suspicions: the one to use
	Psi               // failures and recoveries; a wrong suspicion is never taken back
	Phi               // failures only
)

var forms = [...]string{"omega", "psi", "phi"}

func (f Form) String() string { return forms[f] }

// Default returns a configuration for a local network, without a gate.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	l := link.Default(self, members, inc)
	return Config{Self: self, Members: members, Inc: inc, Ping: l.Ping, Tout: l.Tout, Tin: l.Tin,
		Stay: 350 * time.Millisecond, Renew: 100 * time.Millisecond,
		Stall: 5 * l.Tout, Evict: 10 * l.Tout, Rho: protocol.DefaultRho}
}

// gated says whether a quorum and a lease decide.
func (c *Config) gated() bool { return c.Quorums.Members() > 0 }

// best returns who of some members is to ask and to decide; Nobody if none of them may.
func (c *Config) best(of protocol.Set) protocol.Rank {
	if !c.Leaders.Empty() {
		of = of.Intersect(c.Leaders)
	}
	return of.Min()
}

func (c *Config) links(inc protocol.Inc) link.Config {
	l := link.Default(c.Self, c.Members, inc)
	l.Ping, l.Tout, l.Tin = c.Ping, c.Tout, c.Tin
	return l
}

// Check says what is wrong with the configuration of a member that has an authority, or has none.
func (c *Config) check(authority bool) error {
	switch {
	case c.gated() && !authority:
		return fmt.Errorf("rain: quorums %v without an authority: decisions need its leases", c.Quorums)
	case !c.gated() && authority:
		return fmt.Errorf("rain: an authority without quorums: say which sets of members may go on")
	case c.gated() && c.Quorums.Members() != c.Members:
		return fmt.Errorf("rain: quorums of %d members: the council has %d", c.Quorums.Members(), c.Members)
	case c.gated() && c.Form != Omega:
		return fmt.Errorf("rain: the form %v with quorums: only omega takes them", c.Form)
	case c.Renew <= 0 || c.gated() && c.Stay <= 2*c.Renew:
		return fmt.Errorf("rain: stay %v: must exceed two renewals of %v", c.Stay, c.Renew)
	case c.Stall < 0 || c.Evict < 0:
		return fmt.Errorf("rain: stall %v, evict %v: must not be negative", c.Stall, c.Evict)
	}
	if err := c.Rho.Check(); err != nil {
		return fmt.Errorf("rain: %w", err)
	}
	inc := c.Inc
	if authority {
		inc = 1 // it will say which
	}
	l := c.links(inc)
	return l.Check()
}
